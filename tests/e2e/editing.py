"""What people do in the grid editor, and how many clicks it takes them."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

COUNTER = """addEventListener("click", (event) => {
  if (event.isTrusted && event.detail > 0) localStorage.clicks = Number(localStorage.clicks ?? 0) + 1;
}, true)"""


def choose(dialog: Locator, label: str, name: str) -> None:
    """Types the name into the picker and takes what it finds first."""
    picker = dialog.get_by_role("combobox", name=label)
    picker.fill(name)
    picker.press("Enter")
    expect(picker).to_have_attribute("aria-expanded", "false")


def count_clicks(page: Page) -> None:
    """From now on, on every page of this tab."""
    page.add_init_script(COUNTER)
    page.reload()


def clicks(page: Page) -> int:
    """Since it was asked the last time; keys that press a button are none."""
    return int(page.evaluate("(() => { const n = localStorage.clicks ?? 0; localStorage.clicks = 0; return n; })()"))
