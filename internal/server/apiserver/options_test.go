// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/store"
)

// effect is what a flag changes: the configuration, or the error about a file that
// does not exist.
type effect struct {
	value   string
	got     func(*apiserver.Options, *apiserver.Config) any
	want    any
	wantErr string
}

// effects of flags: all of Docket's own, and at least one of each part of the
// library, which shows that the part is wired up.
func effects(t *testing.T) map[string]effect {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	pem, _ := testkit.Must2(cert.GenerateSelfSignedCertKey("test", nil, nil))(t)
	testkit.NoError(t, os.WriteFile(ca, pem, 0o600))
	type config = apiserver.Config
	of := func(value string, want any, get func(*config) any) effect {
		return effect{value: value, want: want, got: func(_ *apiserver.Options, c *config) any { return get(c) }}
	}
	missing := func(text string) effect { return effect{value: "/nonexistent", wantErr: text} }
	return map[string]effect{
		"database":                of("sqlite:///x.db", "sqlite:///x.db", func(c *config) any { return c.DatabaseURL }),
		"database-password-file":  of("/secret", "/secret", func(c *config) any { return c.Database.PasswordFile }),
		"cluster":                 of("east", "east", func(c *config) any { return c.Database.Cluster }),
		"api-groups":              of("openreports.io", []string{"openreports.io"}, func(c *config) any { return c.APIGroups }),
		"watch-history":           of("2h", 2*time.Hour, func(c *config) any { return c.Store.History }),
		"watch-history-bytes":     of("2Mi", store.HistoryBytes(2<<20), func(c *config) any { return c.Store.HistoryBytes }),
		"watch-ring-bytes":        of("3Mi", store.RingBytes(3<<20), func(c *config) any { return c.Store.RingBytes }),
		"cache-bytes":             of("4Mi", store.CacheBytes(4<<20), func(c *config) any { return c.Store.CacheBytes }),
		"custom-resources":        of("testdata/widgets.yaml", []string{"testdata/widgets.yaml"}, func(c *config) any { return c.CustomResources }),
		"result-mappings":         of("testdata/mappings.yaml", 10, func(c *config) any { return len(c.Mappings.Kinds()) }),
		"metrics-results":         of("policy,report_namespace", []string{"policy", "report_namespace"}, func(c *config) any { return c.MetricsResults }),
		"metrics-results-series":  of("7", 7, func(c *config) any { return c.MetricsResultsSeries }),
		"result-rows":             of("false", false, func(c *config) any { return c.ResultRows }),
		"max-request-bytes":       of("1Mi", int64(1<<20), func(c *config) any { return c.Generic.MaxRequestBodyBytes }),
		"shutdown-delay-duration": of("7s", 7*time.Second, func(c *config) any { return c.Generic.ShutdownDelayDuration }),
		"max-json-patch-copy-bytes": of("1Mi", int64(1<<20), func(c *config) any {
			return c.Generic.JSONPatchMaxCopyBytes
		}),
		"shutdown-watch-termination-grace-period": of("9s", 9*time.Second, func(c *config) any {
			return c.Generic.ShutdownWatchTerminationGracePeriod
		}),
		"request-timeout": of("5s", 5*time.Second, func(c *config) any { return c.Generic.RequestTimeout }),
		"http2-max-streams-per-connection": of("77", 77, func(c *config) any {
			return c.Generic.SecureServing.HTTP2MaxStreamsPerConnection
		}),
		"profiling":                    of("false", false, func(c *config) any { return c.Generic.EnableProfiling }),
		"enable-priority-and-fairness": of("false", true, func(c *config) any { return c.Generic.FlowControl == nil }),
		"client-ca-file":               of(ca, true, func(c *config) any { return c.Generic.SecureServing.ClientCA != nil }),
		"authorization-always-allow-paths": of("/open", authorizer.DecisionAllow, func(c *config) any {
			decision, _, _ := c.Generic.Authorization.Authorizer.Authorize(t.Context(),
				authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "bob"}, Verb: "get", Path: "/open"})
			return decision
		}),
		"authorize-proxied-requests": {value: "true", want: true, got: func(o *apiserver.Options, _ *config) any {
			return o.AuthorizeProxied
		}},
		"bootstrap-ca-file":             of(ca, ca, func(c *config) any { return c.BootstrapCAFile }),
		"kubeconfig":                    missing("--kubeconfig"),
		"admission-control-config-file": missing("--admission-control-config-file"),
		"audit-policy-file":             missing("audit: "),
		"egress-selector-config-file":   missing("--egress-selector-config-file"),
		"tracing-config-file":           missing("--tracing-config-file"),
		"disabled-metrics": {value: "a", want: []string{"a"}, got: func(o *apiserver.Options, _ *config) any {
			return o.Metrics.DisabledMetrics
		}},
		"logging-format": {value: "json", want: "json", got: func(o *apiserver.Options, _ *config) any { return o.Logs.Format }},
	}
}

// set sets a flag of the options, as the command line does.
func set(t *testing.T, options *apiserver.Options, name, value string) {
	t.Helper()
	for _, sections := range []cliflag.NamedFlagSets{options.Flags(), options.LibraryFlags()} {
		for _, section := range sections.FlagSets {
			if section.Lookup(name) == nil {
				continue
			}
			testkit.NoError(t, section.Set(name, value))
		}
	}
}

// TestFlagsReachTheConfig: no flag is dead.
func TestFlagsReachTheConfig(t *testing.T) {
	t.Parallel()
	kubeconfig := newestCluster().start(t)
	all := effects(t)
	options := apiserver.NewOptions()
	for _, sections := range []cliflag.NamedFlagSets{options.Flags(), options.LibraryFlags()} {
		for _, section := range sections.Order {
			covered := slices.ContainsFunc(keys(all), func(name string) bool { return sections.FlagSets[section].Lookup(name) != nil })
			if !covered {
				t.Errorf("no flag of section %q is tested: is the part wired up?", section)
			}
		}
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := clusterOptions(t, kubeconfig)
			// This plugin asks the cluster every second until a server that used it ends.
			options.Admission.DisablePlugins = []string{"MutatingAdmissionPolicy"}
			set(t, options, name, want.value)
			config, err := options.Complete().Config(t.Context())
			if want.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), want.wantErr) {
					t.Errorf("got error %v, want %q", err, want.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			testkit.NoDiff(t, cmp.Diff(want.want, want.got(options, config)), "--%s=%s is not in the configuration (-want +got)", name, want.value)
		})
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	return out
}

// TestOwnFlagsAreTested: a new flag about reports needs a line in effects.
func TestOwnFlagsAreTested(t *testing.T) {
	t.Parallel()
	all := effects(t)
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	apiserver.NewStorageOptions().AddFlags(own)
	own.VisitAll(func(flag *pflag.Flag) {
		if _, ok := all[flag.Name]; !ok {
			t.Errorf("--%s is not in effects", flag.Name)
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*apiserver.Options)
		want   []string
	}{
		"good": {change: func(*apiserver.Options) {}},
		"all at once": {
			change: func(o *apiserver.Options) {
				o.Storage.Database, o.Storage.Cluster, o.Storage.APIGroups = "", "a b", []string{"nonsense.io"}
				o.Storage.WatchHistory, o.Storage.WatchRingBytes, o.Storage.CacheBytes = time.Second, 1, -1
				o.Server.MaxRequestBodyBytes, o.Server.GoawayChance = 1, 7
			},
			want: []string{"--database", "--cluster", "--api-groups", "--watch-history", "--watch-ring-bytes", "--cache-bytes", "--max-request-bytes", "--goaway-chance"},
		},
		"a database of no kind": {change: func(o *apiserver.Options) { o.Storage.Database = "mysql://x" }, want: []string{"--database: "}},
		"two certificates": {
			change: func(o *apiserver.Options) {
				o.Certificate.Secret, o.SecureServing.ServerCert.CertKey.CertFile = "docket-serving", "tls.crt"
			},
			want: []string{"--tls-secret: the certificate is in --tls-cert-file already"},
		},
		"names of the certificate": {
			change: func(o *apiserver.Options) {
				o.Certificate.Secret, o.Certificate.Service, o.Certificate.Namespace = "A", "B", "C"
			},
			want: []string{"--tls-secret", "--tls-service", "--tls-namespace"},
		},
		"no group":       {change: func(o *apiserver.Options) { o.Storage.APIGroups = nil }, want: []string{"--api-groups"}},
		"a long cluster": {change: func(o *apiserver.Options) { o.Storage.Cluster = strings.Repeat("c", 64) }, want: []string{"--cluster: must have 1 to 63"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := apiserver.NewOptions()
			options.Storage.Database = "sqlite:///x.db"
			test.change(options)
			errs := options.Validate()
			if len(errs) != len(test.want) {
				t.Errorf("%d errors, want %d: %v", len(errs), len(test.want), errors.Join(errs...))
			}
			for _, want := range test.want {
				if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no error names %s: %v", want, err)
				}
			}
		})
	}
}

// TestCompleteRefuses: what a server can't do without.
func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	options := apiserver.NewLocalOptions()
	options.Storage.Database = "sqlite:///x.db"
	options.SecureServing.Listener = listenLoopback(t)
	config := testkit.Must(options.Complete().Config(t.Context()))(t)
	if _, err := config.Complete(); err == nil || !strings.Contains(err.Error(), "authenticator") {
		t.Errorf("a server without an authenticator: got %v", err)
	}
	config.Generic.SecureServing = nil
	if _, err := config.Complete(); err == nil || !strings.Contains(err.Error(), "--secure-port") {
		t.Errorf("a server without HTTPS: got %v", err)
	}
}

// TestPatchLimit: a JSON patch may make what a PUT may send.
func TestPatchLimit(t *testing.T) {
	t.Parallel()
	if options := apiserver.NewLocalOptions(); options.Server.MaxRequestBodyBytes != options.Server.JSONPatchMaxCopyBytes {
		t.Errorf("a PUT may send %d bytes, a JSON patch may copy %d", options.Server.MaxRequestBodyBytes, options.Server.JSONPatchMaxCopyBytes)
	}
}
