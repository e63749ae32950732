"""What runs in an app's own process. It may have another interpreter: only Flower and NumPy are needed here, and

nothing of the catalog, the specs or the engine is imported.
"""
