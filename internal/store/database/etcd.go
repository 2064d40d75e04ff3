// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// Defaults of etcd URLs.
const (
	// DefaultEtcdPrefix is what keys begin with when the URL has no path.
	DefaultEtcdPrefix = "/docket"
	// DefaultEtcdCompactionInterval is that of kube-apiserver.
	DefaultEtcdCompactionInterval = 5 * time.Minute

	etcdPort              = "2379"
	minCompactionInterval = time.Minute
)

const etcdForm = "use etcd://host:2379/prefix, or etcds:// with TLS"

// Etcd is what an etcd URL says. It is not opened here: etcd is no engine, since
// the storage of Kubernetes for etcd has no place for result rows.
type Etcd struct {
	// Endpoints are URLs with scheme, host and port; at least one.
	Endpoints []string
	// Prefix of all keys; it begins with a slash and doesn't end with one.
	Prefix string
	// CAFile, CertFile and KeyFile are paths, "" for what was not given. The last two come together.
	CAFile, CertFile, KeyFile string
	// CompactionInterval is how often history is dropped: it reaches back once to
	// twice as far. 0 leaves that to somebody else.
	CompactionInterval time.Duration
}

// IsEtcd reports whether a URL is for ParseEtcd rather than for Open.
func IsEtcd(rawURL string) bool {
	scheme, _, _ := strings.Cut(rawURL, ":")
	return strings.EqualFold(scheme, schemeEtcd) || strings.EqualFold(scheme, schemeEtcdTLS)
}

// ParseEtcd returns what an etcd URL says:
//
//	etcd://host:2379,other:2379/prefix?compaction_interval=5m
//	etcds://host:2379/prefix?cacert=/path/to/ca.crt&cert=/path/to/client.crt&key=/path/to/client.key
//
// No error names a password.
func ParseEtcd(rawURL string) (Etcd, error) {
	u, hosts, err := splitEtcd(rawURL)
	if err != nil {
		return Etcd{}, err
	}
	p, err := newParameters(u, "cacert", "cert", "key", "compaction_interval")
	if err != nil {
		return Etcd{}, err
	}
	e := Etcd{
		CAFile: p.values.Get("cacert"), CertFile: p.values.Get("cert"), KeyFile: p.values.Get("key"),
		CompactionInterval: p.interval("compaction_interval", DefaultEtcdCompactionInterval, minCompactionInterval),
	}
	if p.err != nil {
		return Etcd{}, p.err
	}
	transport := "http://"
	switch {
	case u.Scheme == schemeEtcdTLS:
		transport = "https://"
	case e.CAFile != "" || e.CertFile != "" || e.KeyFile != "":
		return Etcd{}, errors.New("cacert, cert and key are about TLS, which etcd:// does not use: use etcds://")
	}
	if (e.CertFile == "") != (e.KeyFile == "") {
		return Etcd{}, errors.New("cert and key in the etcds URL belong together: give both or none")
	}
	for host := range strings.SplitSeq(hosts, ",") {
		address, err := etcdAddress(host)
		if err != nil {
			return Etcd{}, err
		}
		e.Endpoints = append(e.Endpoints, transport+address)
	}
	e.Prefix, err = etcdPrefix(u.Path)
	return e, err
}

// splitEtcd returns the URL with the hosts taken out. Why: net/url refuses more than one host.
func splitEtcd(rawURL string) (*url.URL, string, error) {
	scheme, rest, found := strings.Cut(rawURL, "://")
	if !found {
		return nil, "", errors.New("the etcd URL has no slashes: " + etcdForm)
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	hosts := rest[:end]
	if strings.Contains(hosts, "@") {
		return nil, "", errors.New("the etcd URL has a user, but Docket signs in to etcd by certificate only: " +
			"leave the user out and use etcds://…?cert=/path/to/client.crt&key=/path/to/client.key")
	}
	u, err := url.Parse(scheme + "://hosts" + rest[end:])
	switch {
	case err != nil:
		return nil, "", errors.New("the etcd URL can't be parsed: percent-encode special characters")
	case u.Fragment != "":
		return nil, "", errors.New("the etcd URL has a # in it: percent-encode it as %23")
	}
	return u, hosts, nil
}

// etcdAddress checks a host with or without port and returns it with one.
func etcdAddress(given string) (string, error) {
	host, port, err := net.SplitHostPort(given)
	if err != nil {
		// No port, it seems.
		host, port, err = net.SplitHostPort(given + ":" + etcdPort)
	}
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host == "" || strings.ContainsAny(host, " []%") {
		return "", fmt.Errorf("%q in the etcd URL is no host:port: "+etcdForm, given)
	}
	return net.JoinHostPort(host, port), nil
}

func etcdPrefix(given string) (string, error) {
	prefix := strings.TrimSuffix(given, "/")
	switch {
	case prefix == "":
		return DefaultEtcdPrefix, nil
	case path.Clean(prefix) != prefix:
		return "", fmt.Errorf("the prefix %q in the etcd URL has an empty part, . or ..: use a plain path such as %s", given, DefaultEtcdPrefix)
	}
	return prefix, nil
}

// redactedEtcd returns an etcd URL without what looks like a user and password.
func redactedEtcd(rawURL string) string {
	if _, _, err := splitEtcd(rawURL); err != nil {
		return "(not a URL)"
	}
	return rawURL
}

// interval returns a parameter that is a duration: 0 or at least least.
func (p *parameters) interval(name string, missing, least time.Duration) time.Duration {
	value := p.values.Get(name)
	if value == "" {
		return missing
	}
	duration, err := time.ParseDuration(value)
	if (err != nil || duration != 0 && duration < least) && p.err == nil {
		p.err = fmt.Errorf("%s=%s in the %s URL: use a duration such as 5m, at least %s, or 0 to turn it off", name, value, p.scheme, least)
	}
	return duration
}
