// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/docket-project/docket/conformance/runner"
)

const areaHealth = "Health"

var health = []runner.Check{
	{
		ID: "health-livez-readyz", Area: areaHealth,
		Rule:      "A healthy server returns 200 at /livez and /readyz, or at the older /healthz.",
		Detail:    "Tries for a few seconds. The text of the answer is for people and is not checked.",
		Reference: "https://kubernetes.io/docs/reference/using-api/health-checks/#api-endpoints-for-health",
		Run: settled(func(p *runner.Probe) {
			// A server may be busy with something for a moment.
			live := p.Send(runner.Get("/livez"))
			ready := p.Send(runner.Get("/readyz"))
			if live.Code == http.StatusNotFound && ready.Code == http.StatusNotFound {
				p.Send(runner.Get("/healthz")).Want(http.StatusOK)
				return
			}
			live.Want(http.StatusOK)
			ready.Want(http.StatusOK)
		}),
	},
	{
		ID: "health-version", Area: areaHealth,
		Rule:      "/version returns the version of the server as JSON.",
		Detail:    "gitVersion must be a version, and major and minor must be set.",
		Reference: "https://pkg.go.dev/k8s.io/apimachinery/pkg/version#Info",
		Run: func(p *runner.Probe) {
			const expected = "a version of the server, in JSON with gitVersion, major and minor"
			response := p.Send(runner.Get("/version"))
			var info struct {
				Major      *string `json:"major"`
				Minor      *string `json:"minor"`
				GitVersion string  `json:"gitVersion"`
			}
			readDocument(response, expected, &info)
			if info.Major == nil || info.Minor == nil {
				response.FailBecause("major or minor is missing", "%s", expected)
			}
			if _, err := utilversion.ParseGeneric(info.GitVersion); err != nil {
				response.FailBecause(fmt.Sprintf("gitVersion is %q", info.GitVersion), "%s", expected)
			}
		},
	},
	{
		ID: "health-metrics", Area: areaHealth,
		Rule:      "/metrics returns metrics in the text format of Prometheus.",
		Detail:    "Each line must be a comment or a sample, and at least one sample must have a TYPE.",
		Reference: "https://kubernetes.io/docs/concepts/cluster-administration/system-metrics/#metrics-in-kubernetes",
		Run: func(p *runner.Probe) {
			response := p.Send(runner.Get("/metrics").With("Accept", "text/plain")).WantSuccess("metrics")
			types, typed := map[string]bool{}, 0
			for line := range strings.Lines(string(response.Body)) {
				line = strings.TrimSpace(line)
				if line == "" {
					continue
				}
				if strings.HasPrefix(line, "#") {
					if name := typedMetric(line); name != "" {
						types[name] = true
					}
					continue
				}
				name, ok := sampledMetric(line)
				if !ok {
					response.FailBecause(fmt.Sprintf("the line %q is neither a comment nor a sample", line), "metrics in the text format of Prometheus")
				}
				if isTyped(types, name) {
					typed++
				}
			}
			if typed == 0 {
				response.Fail("metrics in the text format of Prometheus, with at least one that has a TYPE")
			}
		},
	},
}

// typedMetric returns the metric of which a comment says the type; empty if it says nothing.
func typedMetric(line string) string {
	words := strings.Fields(line)
	kinds := []string{"counter", "gauge", "histogram", "summary", "untyped"}
	if len(words) == 4 && words[0] == "#" && words[1] == "TYPE" && slices.Contains(kinds, words[3]) {
		return words[2]
	}
	return ""
}

// sampledMetric returns the metric of a line: name{labels} value time. There may be very many.
func sampledMetric(line string) (string, bool) {
	end := strings.IndexFunc(line, func(r rune) bool { return !isMetricRune(r) })
	if end <= 0 || line[0] >= '0' && line[0] <= '9' {
		return "", false
	}
	name, rest := line[:end], strings.TrimLeft(line[end:], " \t")
	if strings.HasPrefix(rest, "{") {
		closing := strings.LastIndexByte(rest, '}')
		if closing < 0 {
			return "", false
		}
		rest = rest[closing+1:]
	}
	values := strings.Fields(rest)
	if len(values) == 0 || len(values) > 2 {
		return "", false
	}
	for _, value := range values {
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "", false
		}
	}
	return name, true
}

func isMetricRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == ':'
}

// isTyped reports whether the type of a sample was said; histograms and summaries have several samples.
func isTyped(types map[string]bool, name string) bool {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && types[base] {
			return true
		}
	}
	return false
}
