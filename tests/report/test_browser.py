"""The page in a real browser: quiet, alone, and readable on a phone."""

import shutil

import pytest

from widealign.report.page import write_page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[browser]'")
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
INSTALLED = next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def page_path(tmp_path_factory, make_contents):
    path = tmp_path_factory.mktemp("page") / "report.html"
    wanted = (
        ("table-8", "paper"),
        ("table-9", "desk"),
        ("figure-6", "desk"),
        ("figure-8", "desk"),
        ("speed-1", "desk"),
    )
    write_page(make_contents(*wanted), path)
    return path


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        try:
            chromium = driver.chromium.launch(executable_path=INSTALLED, args=["--no-sandbox"])
        except playwright.Error as problem:
            if INSTALLED:
                raise
            pytest.skip(f"no Chromium on this machine; `make browser` gets one ({str(problem).splitlines()[0]})")
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, page_path):
    """Opens the page, draws every figure by scrolling past it, and hands on what the browser complained of."""
    contexts = []

    def open_page(width: int = 1280, scheme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page, complaints = context.new_page(), []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or complaints.append(request.url))
        page.goto(page_path.as_uri())
        for plot in page.query_selector_all(".plot"):
            plot.scroll_into_view_if_needed()
        page.wait_for_function("[...document.querySelectorAll('.plot')].every(p => p.querySelector('.legendtoggle'))")
        return page, complaints

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_error_and_no_request(visit, scheme):
    _, complaints = visit(scheme=scheme)
    assert complaints == []


def test_a_click_in_the_legend_hides_a_curve_and_a_second_one_brings_it_back(visit):
    page, complaints = visit()
    plot = page.query_selector("#figure-6 .plot")
    before = len(plot.query_selector_all(".scatterlayer .trace"))
    plot.query_selector(".legendtoggle").click()
    page.wait_for_function(
        "n => document.querySelectorAll('#figure-6 .plot .scatterlayer .trace').length < n", arg=before
    )
    page.wait_for_timeout(400)
    plot.query_selector(".legendtoggle").click()
    page.wait_for_function(
        "n => document.querySelectorAll('#figure-6 .plot .scatterlayer .trace').length == n", arg=before
    )
    assert complaints == []


@pytest.mark.parametrize("width", [320, 400, 800, 1280])
def test_nothing_is_wider_than_the_window(visit, width):
    page, _ = visit(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_button_changes_the_page_and_its_figures(visit):
    page, complaints = visit()
    paint = "[getComputedStyle(document.body).backgroundColor, document.querySelector('.js-line').style.stroke]"
    light = page.evaluate(paint)
    page.click("#theme")
    page.wait_for_timeout(300)
    dark = page.evaluate(paint)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert complaints == []


def test_print_shows_the_drawn_figures_in_light_colours(visit):
    page, _ = visit(scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.panels')).display") == "none"
    assert page.evaluate("getComputedStyle(document.querySelector('#figure-6 .picture')).display") == "block"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
