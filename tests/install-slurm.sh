#!/bin/sh
# A Slurm cluster of one node, for `make integration`: what is there already, or Debian's packages (root and apt).
set -eu
if command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; then
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Slurm and munge are needed: 'apt-get install slurm-wlm munge', then 'make integration' again."
  exit 1
fi
echo "Installing Slurm ..."
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
