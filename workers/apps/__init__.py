"""Flower apps of the lab as studies: read (`package`), unpacked (`archive`), kept (`library`), started (`launcher`).

The web process reads manifests only; apps are imported in processes of their own, by `runtime`.
"""
