"""Captions that stand alone: n, interval, data set, version and link."""

from __future__ import annotations

from experiments.charts.chart import EMPTY_FIGURE, Chart, DataTable
from experiments.papers.captions import PaperSource, chart_caption, figure_latex, notes_sentences, seeds_sentence

SOURCE = PaperSource(("MNIST", "UCI HAR"), (2, 3), "0.1.0", "http://lab/compare?study=1")


def chart(*counts: int) -> Chart:
    table = DataTable(("line", "n"), tuple(("FedAvg", count) for count in counts))
    return Chart(
        "Test accuracy over rounds", EMPTY_FIGURE, "", lambda: table, "Band: mean ± std over seeds · 1 seed ended"
    )


def test_a_caption_says_everything_a_reader_needs() -> None:
    assert chart_caption(chart(5, 5), SOURCE) == (
        "Test accuracy over rounds. Band: mean ± std over seeds. 1 seed ended. n = 5 seeds. Data: MNIST, UCI HAR. "
        "Computed with Tributary 0.1.0, engine versions 2 and 3: http://lab/compare?study=1"
    )


def test_a_caption_speaks_of_paper() -> None:
    assert notes_sentences("Band: mean ± std over seeds, of the line that is pointed at · 1 seed ended") == (
        "Band: mean ± std over seeds. 1 seed ended."
    )


def test_seeds_are_those_behind_the_numbers() -> None:
    assert seeds_sentence(chart(3, 5, 0).table) == "n = 3 to 5 seeds."
    assert seeds_sentence(chart(1).table) == "One seed."
    assert seeds_sentence(chart().table) == ""
    assert seeds_sentence(DataTable(("client",), ((1,),))) == ""


def test_the_environment_includes_the_downloaded_file() -> None:
    text = figure_latex("compare-curves", "All of it. http://lab/compare?study=1", SOURCE, spans_columns=True)
    assert text == (
        "% \\usepackage{graphicx}\n\\begin{figure*}\n\\centering\n\\includegraphics{compare-curves}\n"
        "\\caption{All of it. \\texttt{http:/\\allowbreak{}/\\allowbreak{}lab/\\allowbreak{}compare?\\allowbreak{}"
        "study=\\allowbreak{}1}}\n\\label{fig:compare-curves}\n\\end{figure*}\n"
    )
