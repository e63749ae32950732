from tests.workers.datasets.conftest import data_home

__all__ = ["data_home"]
