"""Text and numbers as LaTeX takes them, with pdflatex too: no letter that its fonts lack."""

from __future__ import annotations

import re

ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "≈": r"$\approx$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "²": "$^2$",
    "₁": "$_1$",
    "₂": "$_2$",
    "…": r"\dots{}",
    "◆": r"$\blacklozenge$",
    "“": "``",
    "”": "''",
    "’": "'",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
}
GREEK = {
    letter: name
    for letters, names in (
        ("αβγδεζηθικλμ", "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"),
        ("νξπρστφχψωµ", "nu xi pi rho sigma tau phi chi psi omega mu"),
        ("ΓΔΘΛΞΠΣΦΨΩ", "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"),
    )
    for letter, name in zip(letters, names.split(), strict=True)
}
NUMBER = re.compile(r"[+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?")
SPREAD = re.compile(rf"({NUMBER.pattern}|[+\-−]?inf)(?: ± ({NUMBER.pattern}|inf))?$")


def latex_escape(text: str) -> str:
    return "".join(rf"$\{GREEK[letter]}$" if letter in GREEK else ESCAPES.get(letter, letter) for letter in text)


def latex_url(address: str) -> str:
    r"""Letters that may be broken into lines; `\url` would not take the percent signs of one inside a caption."""
    breakable = re.sub(r"([/?=]|\\&)", r"\1\\allowbreak{}", latex_escape(address))
    return rf"\texttt{{{breakable}}}"


def latex_value(text: str, standing: str = "") -> str:
    """A number with its spread in mathematics, the best bold, with a dagger what was not shown to differ from it."""
    match = SPREAD.match(text)
    if match is None:
        marked = latex_escape(text)
        return (
            rf"\textbf{{{marked}}}" if standing == "best" else marked + (r"$^{\dagger}$" if standing == "tie" else "")
        )
    plain = " \\pm ".join(part.replace(",", "{,}").replace("−", "-") for part in match.groups() if part)
    plain = plain.replace("inf", r"\infty")
    if standing == "best":
        return rf"$\mathbf{{{plain}}}$"
    return rf"${plain}^{{\dagger}}$" if standing == "tie" else f"${plain}$"
