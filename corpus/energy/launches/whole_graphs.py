"""Truths on a GPU: whole graphs (.pt2, meta weights) run recorded and one by one; host costs per call. Appends JSON lines."""
import glob, json, os, sys, threading, time, math, gc
import torch
DEV = os.environ.get("CAMP_DEV", "cuda")
OUT = os.environ["CAMP_OUT"]
T0 = time.time(); LIMIT = float(os.environ.get("CAMP_LIMIT", "200"))
torch.manual_seed(0); torch.set_grad_enabled(False)
CUDA = DEV == "cuda"
def sync():
    if CUDA: torch.cuda.synchronize()
class Meter(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True); self.changes = []; self.stop = False
        if CUDA:
            import pynvml as nv
            nv.nvmlInit(); self.nv = nv; self.h = nv.nvmlDeviceGetHandleByIndex(0)
        self.start()
    def run(self):
        last = None
        while not self.stop:
            a = time.perf_counter()
            e = self.nv.nvmlDeviceGetTotalEnergyConsumption(self.h) if CUDA else int(a * 10) * 10000
            b = time.perf_counter()
            if e != last: self.changes.append(((a + b) / 2, e)); last = e
            time.sleep(0.0005)
    def temp(self): return self.nv.nvmlDeviceGetTemperature(self.h, 0) if CUDA else 0
    def clock(self): return self.nv.nvmlDeviceGetClockInfo(self.h, 1) if CUDA else 0
def emit(**k):
    k["at"] = round(time.time() - T0, 1)
    with open(OUT, "a") as f: f.write(json.dumps(k) + "\n")
def measure(run, per_run, meter, changes=8, warm=0.15, limit=4.0):
    """run(): queues per_run executions. Gives mJ and us per execution between changes of the counter."""
    t = time.perf_counter(); run(); sync(); each = max(time.perf_counter() - t, 1e-6)
    t = time.perf_counter(); run(); sync(); each = max(time.perf_counter() - t, 1e-6)
    batch = max(1, int(0.02 / each))
    t = time.perf_counter(); n = 0
    while time.perf_counter() - t < warm or n < 3:
        for _ in range(batch): run()
        sync(); n += 1
    start = time.perf_counter(); marks = [(start, 0)]; done = 0; host = 0.0
    while True:
        a = time.perf_counter()
        for _ in range(batch): run()
        host += time.perf_counter() - a
        sync(); now = time.perf_counter(); done += batch * per_run; marks.append((now, done))
        ch = [c for c in list(meter.changes) if c[0] > start]
        if len(ch) >= changes or now - start > limit: break
    def ex(t):
        for (t0, n0), (t1, n1) in zip(marks, marks[1:]):
            if t0 <= t <= t1: return n0 + (n1 - n0) * (t - t0) / (t1 - t0)
        return None
    pts = [(t, e, ex(t)) for t, e in ch if ex(t) is not None]
    if len(pts) < 4: return None
    # even steps of the counter
    k = [round((p[0] - pts[0][0]) / 0.1) for p in pts]
    ts = [i * 0.1 for i in k] if len(set(k)) == len(k) else [p[0] - pts[0][0] for p in pts]
    m = len(pts); tm = sum(ts) / m; em = sum(p[1] for p in pts) / m
    watts = sum((t - tm) * (p[1] - em) for t, p in zip(ts, pts)) / sum((t - tm) ** 2 for t in ts) * 1e-3
    us = (pts[-1][0] - pts[0][0]) / (pts[-1][2] - pts[0][2]) * 1e6
    halves = [(b[1] - a[1]) * 1e-3 / 1 for a, b in zip(pts, pts[1:])]
    return dict(mj=watts * us * 1e-3, us=us, watts=watts, host_us=host / done * 1e6, points=m, temp=meter.temp(), clock=meter.clock())
try: import transformers.modeling_outputs
except Exception as e: print("no transformers", e)
METER = None
COUNT = 0
def tocuda(x):
    if isinstance(x, torch.device): return torch.device(DEV)
    if isinstance(x, (list, tuple)): return type(x)(tocuda(i) for i in x)
    return x
def load(path):
    ep = torch.export.load(path)
    user = [n for n in ep.graph.nodes if n.op == "placeholder"]
    sig = ep.graph_signature
    names = {s.arg.name for s in sig.input_specs if s.kind.name == "USER_INPUT" and hasattr(s.arg, "name")}
    pairs = [(n.name, n.meta["val"]) for n in user if n.name in names and hasattr(n.meta.get("val"), "shape")]
    metas = [v for _, v in pairs]
    gm = ep.module(check_guards=False) if "check_guards" in ep.module.__code__.co_varnames else ep.module()
    for n in gm.graph.nodes:
        n.kwargs = {k: tocuda(v) for k, v in n.kwargs.items()}
        n.args = tuple(tocuda(a) for a in n.args)
    for n in list(gm.graph.nodes):
        if n.op == "call_module" and "guard" in str(n.target): gm.graph.erase_node(n)
        elif n.op == "call_function" and "_assert" in str(n.target): gm.graph.erase_node(n)
    gm.recompile()
    seen = {}
    for mod in gm.modules():
        for store in (mod._parameters, mod._buffers):
            for k, t in list(store.items()):
                if t is None: continue
                if id(t) not in seen: seen[id(t)] = fresh(t, k)
                v = seen[id(t)]
                store[k] = torch.nn.Parameter(v, requires_grad=False) if store is mod._parameters else v
        for k, t in list(vars(mod).items()):
            if isinstance(t, torch.Tensor): setattr(mod, k, fresh(t, k))
    kw = list(names)
    def inputs(i):
        g = []
        for n, v in pairs: g.append(torch.ones(v.shape, dtype=v.dtype, device=DEV) if "mask" in n and not v.dtype.is_floating_point else user_input(v))
        return g
    return gm, inputs, metas
def fresh(t, k):
    if t.device.type != "meta": return t.to(DEV)
    if not t.dtype.is_floating_point: return torch.zeros(t.shape, dtype=t.dtype, device=DEV) if t.dtype != torch.long or t.dim() < 2 or "type" in k else torch.arange(t.shape[-1], device=DEV).expand(t.shape).contiguous()
    # Statistics of normalised values, and filters that keep their scale: with a mean of one, activations would be zero behind a ReLU, which takes a third less energy.
    if "running_mean" in k: return 0.01 * torch.randn(t.shape, dtype=torch.float32, device=DEV).to(t.dtype)
    if t.dim() > 2: return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=DEV).normal_(0, (2 / math.prod(t.shape[1:])) ** 0.5)
    if t.dim() <= 1 and "bias" not in k: return torch.ones(t.shape, dtype=t.dtype, device=DEV) + 0.01 * torch.randn(t.shape, dtype=torch.float32, device=DEV).to(t.dtype)
    x = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=DEV) if t.dim() else torch.ones((), dtype=t.dtype, device=DEV)
    return x.normal_(0, 0.02) if t.dim() else x
def user_input(v):
    shape = [int(s) for s in v.shape]
    if v.dtype == torch.bool: return torch.ones(shape, dtype=torch.bool, device=DEV)
    if not v.dtype.is_floating_point:
        return torch.randint(0, 8, shape, device=DEV, dtype=v.dtype) if v.dtype != torch.long or len(shape) != 2 or os.environ.get("CAMP_SMALL") else torch.randint(1, 1000, shape, device=DEV)
    x = torch.empty_strided(shape, [int(s) for s in v.stride()], dtype=torch.float32, device=DEV) if shape else torch.zeros((), device=DEV)
    return x.normal_().to(v.dtype)
import inspect
def caller(gm, ep_path):
    return gm
def one(path, small):
    name = os.path.basename(path)
    gm, inputs, metas = load(path)
    tf32 = name.startswith("tf32") or ".tf32." in name
    torch.backends.cuda.matmul.allow_tf32 = False
    params = sum(t.numel() * t.element_size() for t in list(gm.parameters()) + list(gm.buffers()))
    per = sum(math.prod(v.shape) * v.element_size() for v in metas) + params
    sets = 1 if not small else max(1, min(24, int(2.7e8 / max(per, 1))))
    args = [inputs(i) for i in range(sets)]
    mods = [gm]
    spec = gm._in_spec if hasattr(gm, "_in_spec") else None
    def call(a):
        try: return gm(*a)
        except TypeError: raise
    if spec is not None:
        import torch.utils._pytree as pt
        def call(a):
            ar, kw = pt.tree_unflatten(a, spec)
            return gm(*ar, **kw)
    for a in args[:2]: call(a)
    sync()
    if os.environ.get("CAMP_ONCE"):
        print(name, "ok", flush=True); return
    def eager():
        for a in args: call(a)
    global COUNT
    COUNT += 1
    if not small or COUNT % 4 == 0:
        r = measure(eager, sets, METER)
        emit(kind="graph", name=name, mode="eager", sets=sets, bytes=per, result=r)
    if CUDA:
        try:
            s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                for a in args[:2]: call(a)
            torch.cuda.current_stream().wait_stream(s)
            g = torch.cuda.CUDAGraph(); keep = []
            reps = 1 if not small else max(1, 96 // sets)
            with torch.cuda.graph(g):
                for _ in range(reps):
                    for a in args: call(a)
            r = measure(g.replay, sets * reps, METER)
            emit(kind="graph", name=name, mode="recorded", sets=sets, bytes=per, result=r)
            del g
        except Exception as e:
            emit(kind="graph", name=name, mode="recorded", error=str(e)[:300])
def host():
    """Microseconds that the host takes for a call, with next to nothing for the device to do."""
    F = torch.nn.functional; d = dict(device=DEV)
    x = torch.randn(4, 64, **d); w = torch.randn(64, 64, **d); v = torch.randn(64, **d); h = x.bfloat16()
    q = torch.randn(1, 2, 8, 64, **d, dtype=torch.bfloat16); img = torch.randn(1, 8, 8, 8, **d); k = torch.randn(8, 8, 3, 3, **d)
    i = torch.zeros(4, dtype=torch.long, **d); b = torch.ones(4, 64, dtype=torch.bool, **d)
    A = torch.ops.aten
    ops = {
        "add": lambda: A.add.Tensor(x, x), "mul_number": lambda: A.mul.Tensor(x, 0.5), "relu": lambda: A.relu.default(x), "gelu": lambda: A.gelu.default(x), "where": lambda: A.where.self(b, x, x), "cast": lambda: A.to.dtype(x, torch.bfloat16),
        "view": lambda: A.view.default(x, [8, 32]), "transpose": lambda: A.transpose.int(x, 0, 1), "permute": lambda: A.permute.default(x, [1, 0]), "unsqueeze": lambda: A.unsqueeze.default(x, 0), "slice": lambda: A.slice.Tensor(x, 1, 0, 32), "expand": lambda: A.expand.default(v, [4, 64]),
        "contiguous": lambda: A.clone.default(x.t(), memory_format=torch.contiguous_format), "concat": lambda: A.cat.default([x, x], 0), "matmul": lambda: A.matmul.default(x, w), "mm": lambda: A.mm.default(x, w), "linear": lambda: A.linear.default(x, w, v), "bmm": lambda: A.bmm.default(q[0], q[0].transpose(1, 2)), "addmm": lambda: A.addmm.default(v, x, w),
        "layer_norm": lambda: A.layer_norm.default(x, [64], v, v), "softmax": lambda: A.softmax.int(x, -1), "sum": lambda: A.sum.dim_IntList(x, [1]), "mean": lambda: A.mean.dim(x, [1]), "amax": lambda: A.amax.default(x, [1]), "cumsum": lambda: A.cumsum.default(x, 0), "argmax": lambda: A.argmax.default(x, 1), "topk": lambda: A.topk.default(x, 4), "sort": lambda: A.sort.default(x),
        "sdpa": lambda: A.scaled_dot_product_attention.default(q, q, q), "embedding": lambda: A.embedding.default(x, i), "gather": lambda: A.gather.default(x, 0, i[None, :]), "index": lambda: A.index.Tensor(x, [i]), "index_select": lambda: A.index_select.default(x, 0, i), "scatter": lambda: A.scatter.src(x, 0, i[None, :], x), "masked_fill": lambda: A.masked_fill.Scalar(x, b, 0.0),
        "conv2d": lambda: A.conv2d.default(img, k, None, [1, 1], [1, 1]), "batch_norm": lambda: A.batch_norm.default(img, v[:8], v[:8], v[:8], v[:8].abs(), False, 0.1, 1e-5, True), "group_norm": lambda: A.group_norm.default(img, 2, v[:8], v[:8]), "max_pool2d": lambda: A.max_pool2d.default(img, [2, 2]), "adaptive_avg_pool": lambda: A.adaptive_avg_pool2d.default(img, [1, 1]), "upsample": lambda: A.upsample_nearest2d.vec(img, None, [2.0, 2.0]),
        "arange": lambda: A.arange.default(16, device=DEV), "full": lambda: A.full.default([4, 4], 0.0, device=DEV), "dropout": lambda: A.dropout.default(x, 0.1, True), "pad": lambda: A.constant_pad_nd.default(x, [1, 1]), "tril": lambda: A.tril.default(x), "le": lambda: A.le.Tensor(x, x), "pow": lambda: A.pow.Tensor_Scalar(x, 2), "rsqrt": lambda: A.rsqrt.default(x), "neg": lambda: A.neg.default(x), "split": lambda: A.split.Tensor(x, 32, 1),
        "empty_module": None,
    }
    ident = torch.nn.Identity(); ops["empty_module"] = lambda: ident(x)
    out = {}
    for name, f in ops.items():
        try:
            for _ in range(50): f()
            sync(); best = []
            for _ in range(7):
                a = time.perf_counter()
                for _ in range(200): f()
                best.append((time.perf_counter() - a) / 200 * 1e6); sync()
            out[name] = round(sorted(best)[3], 3)
        except Exception as e: out[name] = str(e)[:100]
    emit(kind="host", us=out)
def waiting():
    """Power while the device waits for the host: tiny kernels at several spacings."""
    x = torch.zeros(64, device=DEV)
    for gap in (0, 5e-6, 2e-5, 1e-4, 1e-3):
        def run():
            x.add_(1)
            if gap:
                t = time.perf_counter() + gap
                while time.perf_counter() < t: pass
        r = measure(run, 1, METER); emit(kind="waiting", gap=gap, result=r)
    def nothing(): time.sleep(0.01)
    r = measure(nothing, 1, METER); emit(kind="idle", result=r)
def modules():
    """Models as people write them: what nn.Module adds."""
    import torchvision, transformers as tf
    todo = {"resnet50": (lambda: torchvision.models.resnet50(), lambda: (torch.randn(4, 3, 224, 224, device=DEV),), {}),
            "shufflenet_v2_x1_0": (lambda: torchvision.models.shufflenet_v2_x1_0(), lambda: (torch.randn(4, 3, 224, 224, device=DEV),), {}),
            "bert": (lambda: tf.BertForMaskedLM(tf.BertConfig(num_hidden_layers=3)), lambda: (torch.randint(1, 1000, (2, 128), device=DEV),), {}),
            "mistral": (lambda: tf.MistralForCausalLM(tf.MistralConfig(num_hidden_layers=2, sliding_window=256, use_cache=False)).bfloat16(), lambda: (torch.randint(1, 1000, (1, 1024), device=DEV),), {}),
            "vit": (lambda: tf.ViTForImageClassification(tf.ViTConfig(num_hidden_layers=3)), lambda: (torch.randn(2, 3, 224, 224, device=DEV),), {})}
    for name, (make, args, kw) in todo.items():
        try:
            with torch.device(DEV): m = make().eval()
            a = args(); m(*a); sync()
            n = [0]
            hs = [x.register_forward_pre_hook(lambda *_: n.__setitem__(0, n[0] + 1)) for x in m.modules()]
            m(*a); [h.remove() for h in hs]
            emit(kind="module", name=name, calls=n[0], result=measure(lambda: m(*a), 1, METER)); del m; gc.collect()
        except Exception as e: emit(kind="module", name=name, error=str(e)[:300])
def work(part):
    global METER
    METER = Meter()
    try:
        if part == "host": host()
        elif part == "waiting": waiting()
        elif part == "modules": modules()
        else:
            small = part.startswith("small:")
            for path in sorted(glob.glob(part.split(":", 1)[-1])):
                if time.time() - T0 > LIMIT: emit(kind="late", part=path); continue
                try: one(path, small)
                except Exception as e: print(path, repr(e)[:300]); emit(kind="graph", name=os.path.basename(path), error=repr(e)[:400])
                gc.collect()
                if CUDA: torch.cuda.empty_cache()
    except Exception as e: emit(kind="error", part=part, error=repr(e)[:400])
    METER.stop = True
# A process of its own for each part: a fault on the device takes only that part with it.
for part in sys.argv[1:]:
    if time.time() - T0 > LIMIT: emit(kind="late", part=part); continue
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        work(part); sys.stdout.flush(); os._exit(0)
    os.waitpid(pid, 0)
