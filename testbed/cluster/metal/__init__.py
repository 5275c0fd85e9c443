"""Machines without hardware: systemd-nspawn machines with systemd, sshd and addresses, to rehearse with."""
