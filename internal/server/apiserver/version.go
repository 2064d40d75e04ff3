// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"

	"github.com/docket-project/docket/internal/kit/buildinfo"
)

// servedVersion is what /version shows: the version of the Kubernetes library,
// since clients compare it with theirs and look features up by it, with Docket's own
// behind the plus sign. The library's own value can't be parsed when no
// -ldflags set it, and then `kubectl version` fails.
type servedVersion struct {
	compatibility.EffectiveVersion
}

// Info implements compatibility.EffectiveVersion.
func (v servedVersion) Info() *version.Info {
	info := v.EffectiveVersion.Info()
	if info == nil {
		return nil
	}
	build := buildinfo.Get()
	info.GitVersion = build.Kubernetes + "+docket-" + semverIdentifier(build.Version)
	info.GitCommit = build.Commit
	info.GitTreeState = ""
	info.BuildDate = build.Date
	return info
}

// semverIdentifier replaces what may not stand behind the plus sign of a semantic
// version.
func semverIdentifier(text string) string {
	identifier := []byte(text)
	for i, c := range identifier {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && !(c >= '0' && c <= '9') && c != '.' && c != '-' {
			identifier[i] = '-'
		}
	}
	return string(identifier)
}
