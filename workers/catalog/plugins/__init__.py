"""A lab's own components: files in the folders of TRIBUTARY_PLUGINS, and entry points `tributary.components`.

Whatever is wrong with one is told as a `PluginProblem` and keeps nothing else out of the catalog.
"""

from workers.catalog.plugins.checks import PluginProblem
from workers.catalog.plugins.content import StalePluginError, has_changed, require_unchanged
from workers.catalog.plugins.loading import plugin_components
from workers.catalog.plugins.reloading import read_anew
from workers.catalog.plugins.watch import dataset_failures

__all__ = [
    "PluginProblem",
    "StalePluginError",
    "dataset_failures",
    "has_changed",
    "plugin_components",
    "read_anew",
    "require_unchanged",
]
