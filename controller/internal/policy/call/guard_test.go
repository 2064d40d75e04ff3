// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/netip"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	all := func(texts ...string) []netip.Prefix { return prefixes(texts...) }
	for _, test := range []struct {
		address      string
		allow, block []netip.Prefix
		blocked      bool
	}{
		{address: "10.96.0.1"},
		{address: "192.168.1.1"},
		{address: "fd12::1"},
		{address: "127.0.0.1", blocked: true},
		{address: "::1", blocked: true},
		{address: "::", blocked: true},
		{address: "0.0.0.0", blocked: true},
		{address: "169.254.169.254", blocked: true},
		{address: "::ffff:169.254.169.254", blocked: true},
		{address: "64:ff9b::a9fe:a9fe", blocked: true},
		{address: "2002:a9fe:a9fe::1", blocked: true},
		{address: "::a9fe:a9fe", blocked: true},
		{address: "fe80::1%eth0", blocked: true},
		{address: "fd00:ec2::254", blocked: true},
		{address: "fd00:ec2::23", blocked: true},
		{address: "fd00:c1::a9fe:a9fe", blocked: true},
		{address: "fd00:42::42", blocked: true},
		{address: "64:ff9b:1::a9fe:a9fe", blocked: true},
		{address: "64:ff9b:1:a9fe:a9:fe00::", blocked: true},
		{address: "::ffff:0:a9fe:a9fe", blocked: true},
		{address: "::ffff:0:a60:1"},
		{address: "2001:0:a9fe:a9fe::1", blocked: true},
		{address: "2001:db8::1"},
		{address: "64:ff9b:1::a00:1", allow: all("64:ff9b:1::/48")},
		{address: "100.100.100.200", blocked: true},
		{address: "168.63.129.16", blocked: true},
		{address: "224.0.0.1", blocked: true},
		{address: "ff02::1", blocked: true},
		{address: "127.0.0.1", allow: all("127.0.0.0/8")},
		{address: "::1", allow: all("::1/128")},
		{address: "::1", allow: all("0.0.0.0/0"), blocked: true},
		{address: "64:ff9b::a9fe:a9fe", allow: all("169.254.0.0/16")},
		{address: "10.96.0.1", block: all("10.0.0.0/8"), blocked: true},
		{address: "10.96.0.1", allow: all("10.96.0.1/32"), block: all("10.0.0.0/8"), blocked: true},
		{address: "64:ff9b::a00:1", allow: all("64:ff9b::/96"), block: all("10.0.0.0/8"), blocked: true},
	} {
		g := &guard{allow: test.allow, block: test.block}
		err := g.control("tcp", netip.AddrPortFrom(netip.MustParseAddr(test.address), 443).String(), nil)
		if (err != nil) != test.blocked {
			t.Errorf("%s, allow %v, block %v: %v", test.address, test.allow, test.block, err)
		}
	}
}
