"""Words that are explained where they stand."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from experiments.documentation.documents import glossary

register = template.Library()


@register.simple_tag
def term(word: str, text: str = "") -> SafeString:
    """The word, or `text` for it, with its meaning a press away; without scripts too."""
    return format_html(
        '<button type="button" class="term" popovertarget="term-{}">{}</button>', known_term(word), text or word
    )


def known_term(word: str) -> str:
    if word not in glossary():
        raise template.TemplateSyntaxError(f"{word} is not in docs/glossary.md")
    return word


@register.inclusion_tag("parts/glossary.html")
def glossary_popovers() -> dict[str, dict[str, str]]:
    return {"words": glossary()}
