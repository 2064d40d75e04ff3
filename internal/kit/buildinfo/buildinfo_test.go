// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package buildinfo

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestFromBuild(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	released := "v" + strings.TrimSpace(release)
	tests := map[string]struct {
		build *debug.BuildInfo
		want  Info
	}{
		"nothing recorded": {
			want: Info{released + "-dev", "unknown", "1970-01-01T00:00:00Z", fallbackLibrary, runtime.Version(), platform},
		},
		"go install of a version": {
			build: &debug.BuildInfo{
				Main: debug.Module{Version: released},
				Deps: []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.0"}, {Path: library, Version: "v0.36.3"}},
			},
			want: Info{released, "unknown", "1970-01-01T00:00:00Z", "v1.36.3", runtime.Version(), platform},
		},
		"changed work tree": {
			build: &debug.BuildInfo{
				Main: debug.Module{Version: "v0.0.0-20261101000000-abcabcabcabc+dirty"},
				Settings: []debug.BuildSetting{
					{Key: "vcs.modified", Value: "true"},
					{Key: "vcs.revision", Value: "abc"},
					{Key: "vcs.time", Value: "2026-11-01T00:00:00Z"},
				},
			},
			want: Info{released + "-dev", "abc-dirty", "2026-11-01T00:00:00Z", fallbackLibrary, runtime.Version(), platform},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.NoDiff(t, cmp.Diff(test.want, fromBuild(test.build)), "build information differs (-want +got)")
		})
	}
}

// TestChangelogBeginsWithTheRelease: the version of the file VERSION is the first of CHANGELOG.md.
func TestChangelogBeginsWithTheRelease(t *testing.T) {
	t.Parallel()
	changelog := testkit.Must(os.ReadFile("../../../CHANGELOG.md"))(t)
	first := regexp.MustCompile(`(?m)^## \[(.*)\]`).FindStringSubmatch(string(changelog))
	if want := strings.TrimSpace(release); first == nil || first[1] != want {
		t.Errorf("CHANGELOG.md begins with %q, want %q", first, want)
	}
}
