from tests.workers.datasets.conftest import data_home, real

__all__ = ["data_home", "real"]
