from __future__ import annotations

from typing import ClassVar

from django.db import migrations

# Curves are read whole, and their numbers then come from the index alone: rows of one curve lie far apart in the table,
# as workers write round after round. Django cannot declare INCLUDE for a primary key.
WITH = """
ALTER TABLE experiments_metric DROP CONSTRAINT experiments_metric_pkey,
    ADD CONSTRAINT experiments_metric_pkey PRIMARY KEY (run_id, name, round) INCLUDE (value)
"""
WITHOUT = WITH.replace(" INCLUDE (value)", "")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("experiments", "0004_membership_index")]
    operations: ClassVar = [migrations.RunSQL(WITH, WITHOUT)]
