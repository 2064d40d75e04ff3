// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/store/database"
)

func TestParseEtcd(t *testing.T) {
	t.Parallel()
	const interval = database.DefaultEtcdCompactionInterval
	for name, c := range map[string]struct {
		url  string
		want database.Etcd
	}{
		"least": {"etcd://host", database.Etcd{
			Endpoints: []string{"http://host:2379"}, Prefix: "/docket", CompactionInterval: interval,
		}},
		"several": {"etcd://a:1,b,[::1]:2,10.0.0.1/x/y/", database.Etcd{
			Endpoints: []string{"http://a:1", "http://b:2379", "http://[::1]:2", "http://10.0.0.1:2379"},
			Prefix:    "/x/y", CompactionInterval: interval,
		}},
		"TLS": {"ETCDS://host/?cacert=/ca%20.crt&cert=c&key=k&compaction_interval=0", database.Etcd{
			Endpoints: []string{"https://host:2379"}, Prefix: "/docket", CAFile: "/ca .crt", CertFile: "c", KeyFile: "k",
		}},
		"interval": {"etcd://host?compaction_interval=90s", database.Etcd{
			Endpoints: []string{"http://host:2379"}, Prefix: "/docket", CompactionInterval: 90 * time.Second,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !database.IsEtcd(c.url) {
				t.Error("this is an etcd URL")
			}
			got, err := database.ParseEtcd(c.url)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if err := database.Validate(c.url); err != nil {
				t.Errorf("Validate: %v", err)
			}
			if _, err := database.Open(t.Context(), c.url, database.Options{Cluster: "c"}); err == nil || !strings.Contains(err.Error(), "without result rows") {
				t.Errorf("Open: %v", err)
			}
			if got := database.Redacted(c.url); got != c.url {
				t.Errorf("Redacted: %q", got)
			}
		})
	}
	for _, other := range []string{"postgres://etcd/etcd", "sqlite:///etcd", "", "etcd"} {
		if database.IsEtcd(other) != (other == "etcd") {
			t.Errorf("IsEtcd(%q) is wrong", other)
		}
	}
}

func TestParseEtcdRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, want string }{
		"no slashes":         {"etcd:host", "no slashes"},
		"no host":            {"etcd:///docket", "no host:port"},
		"no host in a list":  {"etcd://a,,b", "no host:port"},
		"a port of letters":  {"etcd://host:http", "no host:port"},
		"a port too large":   {"etcd://host:65536", "no host:port"},
		"a bare IPv6":        {"etcd://::1", "no host:port"},
		"spaces":             {"etcd://a b", "no host:port"},
		"a user":             {"etcd://user:" + secret + "@host", "etcds://"},
		"unknown parameter":  {"etcd://host?tls=true", "cacert"},
		"repeated parameter": {"etcds://host?key=a&key=b", "once"},
		"bad escape":         {"etcd://host/%zz", "percent-encode"},
		"bad query":          {"etcd://host?cacert=%zz", "percent-encode"},
		"a fragment":         {"etcd://host/a#b", "%23"},
		"TLS files without":  {"etcd://host?cacert=/ca.crt", "use etcds://"},
		"half a pair":        {"etcds://host?cert=/c.crt", "belong together"},
		"dots":               {"etcd://host/a/../b", "plain path"},
		"an empty part":      {"etcd://host/a//b", "plain path"},
		"no duration":        {"etcd://host?compaction_interval=often", "at least 1m0s"},
		"too often":          {"etcd://host?compaction_interval=1s", "at least 1m0s"},
		"negative":           {"etcd://host?compaction_interval=-5m", "at least 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := database.ParseEtcd(c.url)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if validated := database.Validate(c.url); validated == nil || validated.Error() != err.Error() {
				t.Errorf("Validate says %v", validated)
			}
			if _, opened := database.Open(t.Context(), c.url, database.Options{}); opened == nil || opened.Error() != err.Error() {
				t.Errorf("Open says %v", opened)
			}
			if strings.Contains(database.Redacted(c.url), secret) {
				t.Error("Redacted tells the password")
			}
		})
	}
}
