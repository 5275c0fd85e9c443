"""The program `python connect.py ADDRESS PORT`: what ssh calls to reach a machine (ProxyUseFdpass).

It connects and hands the connection to ssh over its standard output, so nothing stands
between the two. It is started in the network namespace of the lab's switch.
"""

import socket
import sys

TIMEOUT_S = 10.0


def main() -> None:
    """Connect, and hand over the connection."""
    address, port = sys.argv[1:]
    try:
        connection = socket.create_connection((address, int(port)), TIMEOUT_S)
    except OSError as error:
        sys.exit(f"no connection to {address}, port {port}: {error.strerror or error}")
    connection.setblocking(True)
    with socket.socket(fileno=sys.stdout.fileno()) as ssh:
        socket.send_fds(ssh, [b"\0"], [connection.fileno()])
        ssh.detach()


if __name__ == "__main__":
    main()
