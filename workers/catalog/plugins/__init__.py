"""A lab's own components: files in the folders of TRIBUTARY_PLUGINS, and entry points `tributary.components`.

Whatever is wrong with one is told as a `PluginProblem` and keeps nothing else out of the catalog.
"""

from workers.catalog.plugins.checks import PluginProblem
from workers.catalog.plugins.loading import plugin_components
from workers.catalog.plugins.watch import dataset_failures

__all__ = ["PluginProblem", "dataset_failures", "plugin_components"]
