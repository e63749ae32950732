#!/bin/sh
# pdflatex and what looks at its pages, for `make integration`: what is there already, or Debian's packages (root and apt).
set -eu
if command -v pdflatex >/dev/null && command -v pdftoppm >/dev/null && kpsewhich multirow.sty booktabs.sty >/dev/null; then
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "pdflatex with booktabs and multirow, and poppler's pdftoppm, are needed:" \
    "'apt-get install texlive-latex-recommended texlive-latex-extra poppler-utils', then 'make integration' again."
  exit 1
fi
echo "Installing TeX Live (some hundred megabytes) ..."
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  texlive-latex-recommended texlive-latex-extra poppler-utils >/dev/null
