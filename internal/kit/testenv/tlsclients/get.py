# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints what a URL answers at 127.0.0.1: get.py URL FILE-OF-AUTHORITIES."""

import http.client
import socket
import ssl
import sys
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
context = ssl.create_default_context(cafile=sys.argv[2])
context.verify_flags |= ssl.VERIFY_X509_STRICT  # The default from Python 3.13 on.
connection = http.client.HTTPSConnection(url.hostname, url.port, context=context, timeout=60)
connection.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", url.port)), server_hostname=url.hostname)
connection.request("GET", url.path)
response = connection.getresponse()
print(response.status, response.read().decode())
