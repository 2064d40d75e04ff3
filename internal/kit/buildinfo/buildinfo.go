// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package buildinfo says what this binary was built from, out of what the Go
// linker records itself. There is no -ldflags to forget.
package buildinfo

import (
	_ "embed"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// library is the module whose version says which Kubernetes API behaviour this
// server has.
const library = "k8s.io/apiserver"

// fallbackLibrary is used where the linker records no dependencies, as in tests.
const fallbackLibrary = "v1.36.0"

// release is the version that this tree is released as. It stands in that file alone: hack/release.sh makes the
// versions of archives and chart from it, and refuses a tag that is another one.
//
//go:embed VERSION
var release string

// Info about the build. All fields are set.
type Info struct {
	// Version of Docket, such as "v0.1.0", and "v0.1.0-dev" where the build is not that of the tag.
	Version string
	// Commit is the hash of the commit, with "-dirty" behind it when the work tree
	// differed; "unknown" when the build knew no repository.
	Commit string
	// Date of the commit (RFC 3339), or the start of Unix time.
	Date string
	// Kubernetes is the version of the API server library in Kubernetes' own
	// numbers, such as "v1.36.3".
	Kubernetes string
	// GoVersion and Platform, such as "go1.26.8" and "linux/amd64".
	GoVersion, Platform string
}

// Get returns the build of the running binary. It is cheap.
var Get = sync.OnceValue(func() Info {
	info, _ := debug.ReadBuildInfo()
	return fromBuild(info)
})

func fromBuild(build *debug.BuildInfo) Info {
	released := "v" + strings.TrimSpace(release)
	info := Info{
		Version:    released + "-dev",
		Commit:     "unknown",
		Date:       "1970-01-01T00:00:00Z",
		Kubernetes: fallbackLibrary,
		GoVersion:  runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
	if build == nil {
		return info
	}
	if build.Main.Version == released { // Go takes it from the tag.
		info.Version = released
	}
	var dirty bool
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Date = setting.Value
		case "vcs.modified":
			dirty = setting.Value == "true"
		}
	}
	if dirty && info.Commit != "unknown" {
		info.Commit += "-dirty"
	}
	for _, module := range build.Deps {
		// Kubernetes v1.x.y publishes its libraries as v0.x.y.
		if minor, ok := strings.CutPrefix(module.Version, "v0."); ok && module.Path == library {
			info.Kubernetes = "v1." + minor
		}
	}
	return info
}
