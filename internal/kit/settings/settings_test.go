// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/docket-project/docket/internal/kit/testkit"
)

type values struct {
	History time.Duration
	Names   []string
	Bytes   int64
	Labels  map[string]string
	On      bool
}

func flagSet(into *values) *pflag.FlagSet {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlag(fs)
	fs.DurationVar(&into.History, "watch-history", time.Hour, "")
	fs.StringSliceVar(&into.Names, "names", []string{"default"}, "")
	fs.Int64Var(&into.Bytes, "cache-bytes", 1, "")
	fs.StringToStringVar(&into.Labels, "labels", nil, "")
	fs.BoolVar(&into.On, "active", true, "")
	return fs
}

func TestApply(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		env  map[string]string
		file string
		want values
		// wantErr holds parts that the error must have; none means success.
		wantErr []string
	}{
		"defaults": {
			want: values{History: time.Hour, Names: []string{"default"}, Bytes: 1, On: true},
		},
		"flag wins over environment and file": {
			args: []string{"--watch-history=3h"},
			env:  map[string]string{"DOCKET_WATCH_HISTORY": "2h"},
			file: "watch-history: 1m",
			want: values{History: 3 * time.Hour, Names: []string{"default"}, Bytes: 1, On: true},
		},
		"environment wins over file": {
			env:  map[string]string{"DOCKET_WATCH_HISTORY": "2h", "DOCKET_NAMES": "a,b"},
			file: "watch-history: 1m\nnames: [c]",
			want: values{History: 2 * time.Hour, Names: []string{"a", "b"}, Bytes: 1, On: true},
		},
		"file wins over default, of every shape": {
			file: "watch-history: 1m\nnames: [a, b]\ncache-bytes: 268435456\nlabels: {region: west, size: 1}\nactive: false",
			want: values{
				History: time.Minute, Names: []string{"a", "b"}, Bytes: 268435456,
				Labels: map[string]string{"region": "west", "size": "1"},
			},
		},
		"empty variable is absent": {
			env:  map[string]string{"DOCKET_WATCH_HISTORY": ""},
			file: "watch-history: 1m",
			want: values{History: time.Minute, Names: []string{"default"}, Bytes: 1, On: true},
		},
		"variables of a Service called docket are ignored": {
			env:  map[string]string{"DOCKET_PORT": "tcp://10.0.0.1:443", "DOCKET_SERVICE_HOST": "10.0.0.1"},
			want: values{History: time.Hour, Names: []string{"default"}, Bytes: 1, On: true},
		},
		"all problems at once": {
			env:     map[string]string{"DOCKET_WATCH_HISTORY": "soon"},
			file:    "cache-bytes: lots\nnonsense: 1\nconfig: other.yaml\nnames: [[a]]",
			wantErr: []string{"DOCKET_WATCH_HISTORY", "cache-bytes", `unknown setting "nonsense"`, `unknown setting "config"`, "names: entry 0"},
		},
		"a key twice": {file: "active: true\nactive: false", wantErr: []string{"already"}},
		"not a map":   {file: "- active", wantErr: []string{"must be a map"}},
		"malformed":   {file: "active: {", wantErr: []string{"docket.yaml"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got values
			fs := flagSet(&got)
			args := test.args
			if test.file != "" {
				path := filepath.Join(t.TempDir(), "docket.yaml")
				testkit.NoError(t, os.WriteFile(path, []byte(test.file), 0o600))
				args = append(args, "--config="+path)
			}
			testkit.NoError(t, fs.Parse(args))
			_, err := Apply(fs, func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
			if len(test.wantErr) > 0 {
				for _, part := range test.wantErr {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("error %v lacks %q", err, part)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			testkit.NoDiff(t, cmp.Diff(test.want, got), "settings differ (-want +got)")
		})
	}
}

func TestApplyWithoutFile(t *testing.T) {
	t.Parallel()
	var got values
	fs := flagSet(&got)
	testkit.NoError(t, fs.Parse([]string{"--config=" + filepath.Join(t.TempDir(), "none.yaml")}))
	_, err := Apply(fs, func(string) (string, bool) { return "", false })
	if err == nil || !strings.Contains(err.Error(), "--config") || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("error %v names neither flag nor file", err)
	}
}

// TestExplain: an error that names a flag says so if the environment or a file has set it.
func TestExplain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	testkit.NoError(t, os.WriteFile(path, []byte("cache-bytes: 2"), 0o600))
	fs := flagSet(&values{})
	testkit.NoError(t, fs.Parse([]string{"--config", path, "--active"}))
	from := testkit.Must(Apply(fs, func(name string) (string, bool) {
		value, ok := map[string]string{"DOCKET_WATCH_HISTORY": "2h"}[name]
		return value, ok
	}))(t)
	for text, want := range map[string]string{
		"--watch-history: too long":        "--watch-history: too long\n--watch-history is from environment variable DOCKET_WATCH_HISTORY",
		"no --cache-bytes":                 "no --cache-bytes\n--cache-bytes is from " + path,
		"--active, --watch-history-bytes=": "--active, --watch-history-bytes=",
	} {
		if got := from.Explain(errors.New(text)).Error(); got != want {
			t.Errorf("%q is explained as %q", text, got)
		}
	}
	if err := from.Explain(nil); err != nil {
		t.Error(err)
	}
}

// TestCause: errors of values are in words of users, not of Go.
func TestCause(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		"--active=maybe":       `"maybe" is not true or false`,
		"--watch-history=5x":   `"5x" is not a time such as 30s, 10m or 24h`,
		"--cache-bytes=1e99":   `"1e99" is not a whole number`,
		"--labels=without":     "must be formatted as key=value",
		"--surprise=something": "unknown flag",
	} {
		if err := Cause(flagSet(&values{}).Parse([]string{argument})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", argument, err)
		}
	}
}
