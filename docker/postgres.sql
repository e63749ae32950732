-- Once, in a new volume: the platform's role is no superuser (SQL in a page could otherwise run programs), and the superuser has no password:
-- it is reached from inside the container only, as in `docker compose exec postgres psql --username=postgres`.
\getenv password POSTGRES_PASSWORD
CREATE ROLE tributary LOGIN PASSWORD :'password';
CREATE DATABASE tributary OWNER tributary;
ALTER ROLE postgres PASSWORD NULL;
