// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// ErrInUse is returned for a folder that another process uses.
var ErrInUse = errors.New("another docket process is using the folder")

// Endpoint is where the server listens and how clients find it.
type Endpoint struct {
	// Listener is open, and owned by the caller of Listen.
	Listener net.Listener
	// Hosts are the names and addresses that the certificate is for.
	Hosts []string
	// URL is for clients on this machine.
	URL string
}

// Listen opens the address host:port of --listen. Addresses that other machines reach are
// refused unless they are allowed.
func Listen(ctx context.Context, address string, allowNonLoopback bool) (*Endpoint, error) {
	place, err := listen(ctx, address, allowNonLoopback)
	if errors.Is(err, errReachable) {
		err = fmt.Errorf("%w, or confirm with --allow-non-loopback", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return place, nil
}

// ListenLoopback opens the address host:port of a flag. Addresses that other machines reach are refused.
func ListenLoopback(ctx context.Context, flag, address string) (*Endpoint, error) {
	place, err := listen(ctx, address, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return place, nil
}

var errReachable = errors.New("other machines can reach it; listen on 127.0.0.1")

func listen(ctx context.Context, address string, allowNonLoopback bool) (*Endpoint, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w; give host:port such as 127.0.0.1:7443", err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("the port %q is not a number from 0 to 65535", port)
	} else if n == 0 {
		port = "0"
	}
	loopback, err := isLoopback(ctx, host)
	if err != nil {
		return nil, err
	}
	if !loopback && !allowNonLoopback {
		return nil, fmt.Errorf("%s: %w", address, errReachable)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another process listens on %s; stop it, or give another port (127.0.0.1:0 takes any free one)", address)
	}
	if err != nil {
		return nil, err
	}
	return describe(listener, host, loopback)
}

// isLoopback reports whether all addresses of host are loopback addresses.
func isLoopback(ctx context.Context, host string) (bool, error) {
	if host == "" {
		return false, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback(), nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(addresses, func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() }), nil
}

func describe(listener net.Listener, host string, loopback bool) (*Endpoint, error) {
	bound, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is not a TCP address", listener.Addr()), listener.Close())
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	add := func(name string) {
		if name != "" && !slices.Contains(hosts, name) {
			hosts = append(hosts, name)
		}
	}
	contact := host
	if bound.IP.IsUnspecified() {
		contact = "127.0.0.1"
	} else {
		add(host)
	}
	if !loopback {
		if err := eachAddress(add); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	url := "https://" + net.JoinHostPort(contact, strconv.Itoa(bound.Port))
	return &Endpoint{Listener: listener, Hosts: hosts, URL: url}, nil
}

// eachAddress calls add with the names and addresses by which other machines may know
// this one.
func eachAddress(add func(string)) error {
	if name, err := os.Hostname(); err == nil {
		add(name)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLinkLocalUnicast() {
			add(network.IP.String())
		}
	}
	return nil
}
