"""What a notebook shows."""

import dataclasses
from html.parser import HTMLParser

import magneton_ir as mir
import torch


class Texts(HTMLParser):
    """The texts of a page, and its tags."""

    def __init__(self):
        super().__init__()
        self.texts, self.tags, self.open = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(result):
    page = Texts()
    page.feed(result._repr_html_())
    assert page.open == []
    return page


def test_a_result_is_a_page_with_its_figures():
    x = torch.zeros(64, 64)
    result = mir.check(lambda x, y, b: torch.softmax(x @ y + b, -1), lambda x, y, b: torch.addmm(b, x, y).softmax(-1), (x,) * 3)
    page = read(result)
    text = " ".join(page.texts)
    assert "equivalent" in text and "tier real" in text and "cheapest known equivalent" in text and "addmm" in text
    assert page.tags.count("table") == 2
    rounded = f"{result.a.energy_mj.value:.3g} mJ"
    assert rounded in text


def test_a_difference_shows_its_witness():
    result = mir.check(lambda x: x * 2, lambda x: x * 3, (torch.ones(4),))
    assert f"is {result.witness.a} in A" in " ".join(read(result).texts)


def test_names_from_graphs_are_text_and_nothing_else():
    result = mir.check(lambda x: x * 2, lambda x: x * 2, (torch.ones(4),))
    evil = "<script>alert(1)</script>"
    side = dataclasses.replace(result.a, file=evil)
    cause = dataclasses.replace(result.regions[0].cause, text=evil, flag=evil, a_source=evil)
    region = dataclasses.replace(result.regions[0], a_kinds=(evil,), cause=cause)
    page = read(dataclasses.replace(result, a=side, regions=(region,), assumptions=(evil,), tier=evil))
    assert "script" not in page.tags and page.texts.count(evil) >= 3
