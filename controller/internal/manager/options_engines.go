// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/docket-project/docket/controller/internal/policy"
)

// AddEngines adds the flag, which `docket-controller scan` has, too.
func AddEngines(fs *pflag.FlagSet, engines *[]string) {
	fs.StringSliceVar(engines, "engine", *engines, "Engines that run as processes of their own, as NAME or NAME=PATH: "+strings.Join(engineNames(), " or ")+". With a path, that docket-controller is the engine, which may be a build with another version of Kyverno. The others run in this process")
}

// ParseEngine returns the name of an engine and the path of its program; an empty one is that of this process.
func ParseEngine(text string) (name, path string) {
	name, path, _ = strings.Cut(text, "=")
	return name, path
}

// ValidateEngines returns an error for each engine that is none.
func ValidateEngines(engines []string) []error {
	var errs []error
	seen := map[string]bool{}
	for _, text := range engines {
		name, path := ParseEngine(text)
		switch {
		case !slices.Contains(engineNames(), name):
			errs = append(errs, fmt.Errorf("--engine: %q is none of %s; give such a name, or NAME=PATH", name, strings.Join(engineNames(), ", ")))
		case strings.Contains(text, "=") && path == "":
			errs = append(errs, fmt.Errorf("--engine: %q has no path after the =; leave out the = for this program", text))
		case seen[name]:
			errs = append(errs, fmt.Errorf("--engine: %s is given twice", name))
		}
		seen[name] = true
	}
	return errs
}

func engineNames() []string { return slices.Sorted(maps.Keys(policy.Engines())) }
