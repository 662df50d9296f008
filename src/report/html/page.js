"use strict";
// Draws both graphs as one tree of modules. Texts from files only ever become text nodes.

const { texts, a, b, regions, explanations } = JSON.parse(document.getElementById("data").textContent);
const tree = document.getElementById("tree");
const panel = document.getElementById("panel");
const search = document.getElementById("search");
// Columns of an operator's row.
const [NAME, KIND, TYPES, SOURCE, MODULE, REGION, ENERGY] = [0, 1, 2, 3, 4, 5, 6];
// How many rows are drawn at a time.
const CHUNK = 200;

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function digits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toPrecision(3);
}

function energy(mj) {
  if (mj === null) return "unknown";
  if (mj === 0) return "0 mJ";
  if (mj >= 1000) return `${digits(mj / 1000)} J`;
  return mj < 0.1 ? `${digits(mj * 1000)} µJ` : `${digits(mj)} mJ`;
}

// What each side spends; null where an operator's energy is not known.
function sum(operators) {
  return operators.reduce((total, o) => (total === null || o[ENERGY] === null ? null : total + o[ENERGY]), 0);
}

// Kinds of operators in a few words: runs are counted, what is too much is left out.
function summary(operators) {
  const runs = [];
  for (const o of operators) {
    const kind = texts[o[KIND]];
    const last = runs[runs.length - 1];
    if (last && last[0] === kind) last[1] += 1;
    else runs.push([kind, 1]);
  }
  const shown = runs.slice(0, 4).map(([kind, count]) => (count > 1 ? `${kind} ×${count}` : kind));
  const rest = runs.slice(4).reduce((count, run) => count + run[1], 0);
  return shown.join(", ") + (rest ? `, +${rest}` : "");
}

function commonModule(operators) {
  let common = null;
  for (const o of operators) {
    const path = texts[o[MODULE]].split(".").filter(Boolean);
    if (common === null) common = path;
    let same = 0;
    while (same < common.length && same < path.length && common[same] === path[same]) same += 1;
    common = common.slice(0, same);
  }
  return common;
}

// A leaf is a region, or an operator that is in none: what stands on one line.
function leaves() {
  const byRegion = new Map(regions.map(([id, first, state]) => [id, { id, first, state, a: [], b: [], order: Infinity }]));
  const all = [];
  for (const [side, operators] of [["a", a], ["b", b]]) {
    operators.forEach((o, place) => {
      let leaf = byRegion.get(o[REGION]);
      if (!leaf) {
        leaf = { id: 0, first: `${side}${o[NAME]}`, state: 3, a: [], b: [], order: place };
        all.push(leaf);
      }
      leaf[side].push(o);
      leaf.order = Math.min(leaf.order, side === "a" || leaf.a.length === 0 ? place : Infinity);
    });
  }
  for (const leaf of byRegion.values()) if (leaf.a.length + leaf.b.length > 0) all.push(leaf);
  for (const leaf of all) {
    const [ofA, ofB] = [commonModule(leaf.a), commonModule(leaf.b)];
    leaf.module = ofA === null ? ofB : ofB === null || ofA.length === 0 ? ofA : ofB.length && ofA[0] === ofB[0] && ofB.length < ofA.length ? ofB : ofA;
  }
  return all.sort((x, y) => x.order - y.order);
}

function moduleTree(all) {
  const root = { name: "", modules: new Map(), items: [] };
  for (const leaf of all) {
    let at = root;
    for (const part of leaf.module) {
      if (!at.modules.has(part)) {
        const made = { name: part, modules: new Map(), items: [] };
        at.modules.set(part, made);
        at.items.push(made);
      }
      at = at.modules.get(part);
    }
    at.items.push(leaf);
  }
  finish(root);
  return root;
}

// Adds up what a module holds, and joins neighbours that are the same, such as the layers of a model.
function finish(module) {
  for (const item of module.items) if (item.items) finish(item);
  const total = (side) => module.items.reduce((t, i) => (t === null || worth(i, side) === null ? null : t + worth(i, side)), 0);
  module.ofA = total("a");
  module.ofB = total("b");
  module.countA = module.items.reduce((n, i) => n + count(i, "a"), 0);
  module.countB = module.items.reduce((n, i) => n + count(i, "b"), 0);
  module.state = module.items.reduce((worst, i) => Math.max(worst, i.state), 0);
  module.signature = JSON.stringify(module.items.map((i) => (i.items ? [i.name, i.signature] : i.first)));
  const joined = [];
  for (const item of module.items) {
    const last = joined[joined.length - 1];
    if (last && item.items && last.items && /^\d+$/.test(item.name) && last.signature === item.signature) {
      if (!last.repeats) {
        joined[joined.length - 1] = { ...last, name: last.name, repeats: [last], items: [last] };
      }
      const group = joined[joined.length - 1];
      group.repeats.push(item);
      group.items = group.repeats;
      for (const key of ["ofA", "ofB"]) group[key] = group[key] === null || item[key] === null ? null : group[key] + item[key];
      group.countA += item.countA;
      group.countB += item.countB;
    } else joined.push(item);
  }
  module.items = joined;
}

function worth(item, side) {
  return item.items ? item[side === "a" ? "ofA" : "ofB"] : sum(item[side]);
}

function count(item, side) {
  return item.items ? item[side === "a" ? "countA" : "countB"] : item[side].length;
}

let hottest = 1;

function cell(text, mj, empty) {
  if (empty) return element("span", "cell none");
  const made = element("span", "cell", element("span", "", text), element("span", "number", energy(mj)));
  made.style.setProperty("--heat", Math.sqrt((mj || 0) / hottest).toFixed(3));
  return made;
}

// Whether what stands on a line is the same, equal in other operators, unequal, or not proven.
const MARKS = [
  ["=", "same", "the same operators"],
  ["≈", "other", "proven equal, in other operators"],
  ["≠", "parted", "the sides part here"],
  ["?", "open", "not proven"],
];

function row(item, depth) {
  const made = element("button", "row");
  made.type = "button";
  const [sign, kind, meaning] = MARKS[item.state];
  const mark = element("span", `mark ${kind}`, sign);
  mark.title = meaning;
  if (item.items) {
    const label = item.repeats ? `${item.name} … ${item.repeats[item.repeats.length - 1].name}` : item.name || "whole graph";
    const name = element("span", "name", label);
    if (item.repeats) name.append(element("span", "times", ` ×${item.repeats.length}`));
    const operators = (n) => (n === 1 ? "1 operator" : `${n} operators`);
    made.append(name, cell(operators(item.countA), item.ofA, !item.countA), mark, cell(operators(item.countB), item.ofB, !item.countB));
    made.setAttribute("aria-expanded", "false");
    made.addEventListener("click", () => toggle(made, item, depth));
  } else {
    const label = item.id ? `region ${item.id}` : "not proven";
    made.append(element("span", "name", label), ...sides(item, mark));
    made.addEventListener("click", () => (item.id ? (location.hash = `r${item.id}`) : open(item)));
  }
  made.style.setProperty("--depth", depth);
  return made;
}

function sides(leaf, mark) {
  return [cell(summary(leaf.a), sum(leaf.a), !leaf.a.length), mark, cell(summary(leaf.b), sum(leaf.b), !leaf.b.length)];
}

// Rows come in chunks: a module may hold thousands.
function fill(into, items, draw, from = 0) {
  const part = items.slice(from, from + CHUNK);
  into.append(...part.map(draw));
  const left = items.length - from - part.length;
  if (left > 0) {
    const more = element("button", "more", `${left} more`);
    more.addEventListener("click", () => {
      more.remove();
      fill(into, items, draw, from + CHUNK);
    });
    into.append(more);
  }
}

function toggle(button, item, depth) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) {
    button.nextSibling.remove();
  } else {
    const inside = element("div", "inside");
    fill(inside, item.items, (i) => row(i, depth + 1));
    button.after(inside);
  }
}

function operatorTable(operators) {
  const head = element("tr", "", ...["operator", "kind", "types", "energy", "source"].map((t) => element("th", "", t)));
  const line = (o) =>
    element(
      "tr", "",
      element("td", "", element("code", "", o[NAME])),
      element("td", "", element("code", "", texts[o[KIND]])),
      element("td", "small", texts[o[TYPES]]),
      element("td", "number", energy(o[ENERGY])),
      element("td", "small", texts[o[SOURCE]]),
    );
  const body = element("tbody", "");
  fill(body, operators, line);
  return element("div", "scroll", element("table", "", element("thead", "", head), body));
}

function stepList(steps, known = 0) {
  const line = ([rule, tier, doc, text, assumes]) =>
    element("li", "",
      element("p", "", element("code", "", rule), " ", element("span", "tag", tier), ` ${doc}`),
      element("pre", "", text),
      ...assumes.map((a) => element("p", "note", `assumed: ${a}`)));
  const list = element("ol", "steps", ...steps.map(line));
  list.start = known + 1;
  return list;
}

// Shows one region in full.
function open(leaf) {
  const close = element("button", "close", "×");
  close.setAttribute("aria-label", "close");
  close.addEventListener("click", () => panel.close());
  const why = explanations[leaf.first];
  const title = element("h2", "", leaf.id ? `Region ${leaf.id}` : "Not proven");
  title.id = "panel-title";
  const parts = [close, title];
  if (leaf.module.length) parts.push(element("p", "note", `module ${leaf.module.join(".")}`));
  if (why) {
    parts.push(element("p", "", `tier ${why.tier}: ${why.meaning}`));
    if (why.repeats > 1) parts.push(element("p", "note", `one of ${why.repeats} that are the same`));
    if (why.cause) parts.push(element("p", "", why.cause));
    if (why.parts.length > 0) parts.push(element("ul", "", ...why.parts.map((part) => element("li", "", part))));
    for (const made of why.made) parts.push(element("p", "note", made));
    if (why.flag) parts.push(element("p", "", "flag ", element("code", "", why.flag), why.how ? `: ${why.how}` : ""));
    if (why.form) parts.push(element("h3", "", "Cheapest known form"), element("pre", "", /^[AB]$/.test(why.form) ? `the form of ${why.form}` : why.form), element("p", "", why.best));
  }
  for (const side of ["a", "b"]) {
    if (!leaf[side].length) continue;
    parts.push(element("h3", "", side.toUpperCase()));
    if (why) parts.push(element("p", "note", why[side]));
    parts.push(operatorTable(leaf[side]));
  }
  if (why && leaf.state < 2) {
    parts.push(element("h3", "", "Proof"));
    for (const line of why.chain) parts.push(element("p", "", line));
    parts.push(why.steps.length ? stepList(why.steps) : element("p", "", "Both sides have the same normal form."));
    if (why.cheaper.length) parts.push(element("h3", "", "Proof of the cheapest form, over letters for what it reads"), stepList(why.cheaper, why.steps.length));
  }
  panel.replaceChildren(...parts);
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
}

const all = leaves();
const byId = new Map(all.filter((leaf) => leaf.id).map((leaf) => [leaf.id, leaf]));

// How many rows the tree may have before somebody opens it further.
const FIRST_ROWS = 40;

function showTree() {
  const root = moduleTree(all);
  hottest = Math.max(root.ofA || 0, root.ofB || 0) || 1;
  const first = row(root, 0);
  tree.replaceChildren(first);
  let [button, item, depth, rows] = [first, root, 0, 1];
  // Opens what spends most, so that a reader sees at once where to look.
  while (item && rows + item.items.length <= FIRST_ROWS) {
    toggle(button, item, depth);
    rows += item.items.length;
    const spends = (i) => Math.max(i.ofA || 0, i.ofB || 0);
    const next = item.items.filter((i) => i.items).sort((x, y) => spends(y) - spends(x))[0];
    button = next && button.nextSibling.children[item.items.indexOf(next)];
    [item, depth] = [next, depth + 1];
  }
  if (rows === 1) toggle(first, root, 0);
}

let haystack = null;

function found(query) {
  haystack ??= all.map((leaf) => {
    const words = (o) => `${o[NAME]} ${texts[o[KIND]]} ${texts[o[MODULE]]} ${texts[o[SOURCE]]}`;
    return [...leaf.a, ...leaf.b].map(words).join("\n").toLowerCase();
  });
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((_, i) => wanted.every((word) => haystack[i].includes(word)));
}

function showFound(query) {
  const leaves = found(query);
  const heading = element("p", "note", `${leaves.length} of ${all.length} regions`);
  tree.replaceChildren(heading);
  fill(tree, leaves, (leaf) => {
    const made = row(leaf, 0);
    made.firstChild.append(element("span", "times", ` ${leaf.module.join(".")}`));
    return made;
  });
}

let timer = 0;
search.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => (search.value.trim() ? showFound(search.value) : showTree()), 120);
});

function followHash() {
  const leaf = byId.get(Number(/^#r(\d+)$/.exec(location.hash)?.[1]));
  if (leaf) open(leaf);
  else if (panel.open) panel.close();
}

panel.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
panel.addEventListener("click", (event) => {
  if (event.target === panel) panel.close();
});
addEventListener("hashchange", followHash);
showTree();
followHash();
