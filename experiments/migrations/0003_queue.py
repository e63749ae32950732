"""What the queue is read by: which memberships wait, and runs by their state."""

from django.db import migrations, models

WAITING = """
CREATE FUNCTION experiments_run_waits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE experiments_membership SET waiting = (NEW.state = 'queued')
    WHERE run_id = NEW.id AND waiting <> (NEW.state = 'queued');
    RETURN NULL;
END $$;

CREATE TRIGGER experiments_run_waits AFTER UPDATE OF state ON experiments_run
FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION experiments_run_waits();

-- FOR SHARE: a worker that changes the run's state at this moment has ended, or waits until this row is there.
CREATE FUNCTION experiments_member_waits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT state = 'queued' INTO NEW.waiting FROM experiments_run WHERE id = NEW.run_id FOR SHARE;
    NEW.waiting := COALESCE(NEW.waiting, false);
    RETURN NEW;
END $$;

CREATE TRIGGER experiments_member_waits BEFORE INSERT ON experiments_membership
FOR EACH ROW EXECUTE FUNCTION experiments_member_waits();

UPDATE experiments_membership SET waiting = true
FROM experiments_run AS run WHERE run.id = run_id AND run.state = 'queued';
"""

FORGET = """
DROP TRIGGER experiments_run_waits ON experiments_run;
DROP TRIGGER experiments_member_waits ON experiments_membership;
DROP FUNCTION experiments_run_waits();
DROP FUNCTION experiments_member_waits();
"""


class Migration(migrations.Migration):
    dependencies = [("experiments", "0002_lab")]

    operations = [
        migrations.AddField("membership", "waiting", models.BooleanField(default=False, editable=False)),
        migrations.RunSQL(WAITING, FORGET),
        migrations.AddIndex(
            "membership",
            models.Index(fields=["study", "turn"], condition=models.Q(waiting=True), name="membership_waiting"),
        ),
        migrations.RemoveIndex("run", "run_queued"),
        migrations.RemoveIndex("run", "run_lease"),
        migrations.AddIndex("run", models.Index(fields=["state", "id"], name="run_state")),
    ]
