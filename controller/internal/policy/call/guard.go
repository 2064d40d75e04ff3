// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// blockedByDefault are addresses that are close to the controller, or to what gives it its identity.
var blockedByDefault = prefixes(
	"127.0.0.0/8", "::1/128", // Loopback.
	"0.0.0.0/8", "::/128", // Unspecified: Linux takes it for loopback.
	"169.254.0.0/16", "fe80::/10", // Link-local, the metadata services of most clouds among them.
	"224.0.0.0/4", "ff00::/8", "255.255.255.255/32", // Multicast and broadcast.
	// Metadata services at other addresses: EC2 (with its other services for machines and pods),
	// Google, Oracle, Scaleway; Alibaba, Oracle, Azure.
	"fd00:ec2::/32", "fd20:ce::254/128", "fd00:c1::/32", "fd00:42::42/128",
	"100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32",
	// What a network translates to an address of IPv4 that nobody here can tell: NAT64 with a local prefix, Teredo.
	"64:ff9b:1::/48", "2001::/32",
)

// embedding are ranges of IPv6 whose addresses stand for one of IPv4, which begins at a byte.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT.
}

// private are the other addresses that are not public: those of networks of one's own, and of carriers.
var private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// BlockedError says that a call would go to an address that calls may not go to.
type BlockedError struct{ Address netip.Addr }

// Error implements error.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("address %s is blocked: allow its range if calls may go there", e.Address)
}

// guard decides to which addresses calls may go. It is asked with the address of each connection,
// so that no name and no redirect gets around it.
type guard struct{ allow, block, beside []netip.Prefix }

// control is the function Control of a dialer.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	return g.check(target.Addr())
}

// check returns a *BlockedError if calls may not go to an address.
func (g *guard) check(address netip.Addr) error {
	meanings := []netip.Addr{address.Unmap().WithZone("")}
	for _, e := range embedding {
		if meanings[0].Is6() && e.prefix.Contains(meanings[0]) {
			bytes := meanings[0].As16()
			meanings = append(meanings, netip.AddrFrom4([4]byte(bytes[e.at:e.at+4])))
		}
	}
	for _, meaning := range meanings {
		if contains(g.block, meaning) {
			return &BlockedError{address}
		}
	}
	if contains(g.allow, meanings[0]) {
		return nil
	}
	for _, meaning := range meanings {
		if (contains(blockedByDefault, meaning) || contains(g.beside, meaning)) && !contains(g.allow, meaning) {
			return &BlockedError{address}
		}
	}
	return nil
}

func contains(list []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(address) })
}
