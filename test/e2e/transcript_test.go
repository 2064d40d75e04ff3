// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/test/e2e/harness"
)

// sampleTime is the time of all results that programs are given.
var sampleTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// transcript is what a user of kubectl saw.
type transcript struct {
	t       *testing.T
	kubectl *harness.Kubectl
	lines   []string
}

// What kubectl prints of times, identities and files.
var printed = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+(Z| [+-]\d{4})?`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(?m)[ \t]+([0-9]+[smhd]){1,2}([ \t]|$)`), " AGE$2"},
	{regexp.MustCompile(`((?i)resource ?version"?: *"?)[0-9]+`), "${1}VERSION"},
	{regexp.MustCompile(`(LIVE|MERGED)-[0-9]+`), "$1"},
	{regexp.MustCompile(`/tmp/[^ :"]+`), "FILE"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

// run runs kubectl and writes down what it says.
func (s *transcript) run(stdin string, arguments ...string) {
	s.t.Helper()
	result := s.kubectl.Try(s.t, stdin, arguments...)
	said := result.Stdout + result.Stderr
	for _, p := range printed {
		said = p.pattern.ReplaceAllString(said, p.instead)
	}
	s.lines = append(s.lines, fmt.Sprintf("$ kubectl %s\n%sexit code %d", strings.Join(arguments, " "), said, result.Code))
}
