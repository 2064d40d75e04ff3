// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//go:embed trivy/definitions.yaml
var trivyDefinitions []byte

// TrivyGroup is the group of Trivy Operator's kinds.
const TrivyGroup = "aquasecurity.github.io"

// TrivyDefinitions returns the definitions of the kinds of Trivy Operator that have results, as YAML.
func TrivyDefinitions() []byte { return trivyDefinitions }

// trivyImage returns what Trivy Operator says of the vulnerabilities in a workload's image. The
// CVE numbers are of the form of real ones; what they say is made up.
func (c Cluster) trivyImage(k int) *unstructured.Unstructured {
	random := c.random("trivy", k)
	about := c.workload(k)
	found := make([]any, 4+random.IntN(12))
	for n := range found {
		found[n] = vulnerability(random, n, c.ago(random).Format(time.RFC3339))
	}
	made := c.scanned("VulnerabilityReport", &about, random, found)
	made.name += "-" + about.app()
	made.labels["trivy-operator.container.name"] = about.app()
	made.scan["vulnerabilities"] = found
	made.scan["os"] = map[string]any{"family": "debian", "name": "13.2"}
	made.scan["registry"] = map[string]any{"server": pick(random, []string{"registry.example.com", "images.example.org"})}
	made.scan["artifact"] = map[string]any{
		"repository": about.namespace + "/" + about.app(),
		"tag":        fmt.Sprintf("%d.%d.%d", random.IntN(4)+1, random.IntN(20), random.IntN(10)),
	}
	return made.object()
}

func vulnerability(random *rand.Rand, n int, published string) map[string]any {
	library := pick(random, []string{
		"openssl", "zlib", "curl", "glibc", "busybox", "golang.org/x/net", "log4j-core",
		"libxml2", "expat", "krb5", "ncurses", "perl-base", "systemd", "tar",
	})
	weakness := pick(random, []string{
		"out-of-bounds write", "integer overflow", "use after free", "request smuggling",
		"uncontrolled recursion", "improper certificate validation", "denial of service",
	})
	installed := fmt.Sprintf("%d.%d.%d", random.IntN(3)+1, random.IntN(12), random.IntN(8))
	score := float64(random.IntN(100)+1) / 10
	ratings := []string{"LOW", "LOW", "LOW", "LOW", "MEDIUM", "MEDIUM", "MEDIUM", "HIGH", "HIGH", "CRITICAL", "CRITICAL"} // Of CVSS 3.
	return map[string]any{
		"vulnerabilityID":  fmt.Sprintf("CVE-%d-%05d", 2021+random.IntN(5), 10000+n*997+random.IntN(900)),
		"resource":         library,
		"installedVersion": installed,
		"fixedVersion":     installed + pick(random, []string{"-r1", "-r2", ".1"}),
		"severity":         ratings[int(score)],
		"score":            score,
		"title":            library + ": " + weakness,
		"publishedDate":    published,
		"lastModifiedDate": published,
	}
}

// trivyAudit returns what Trivy Operator says of a workload's configuration. The checks are real ones.
func (c Cluster) trivyAudit(k int) *unstructured.Unstructured {
	random := c.random("trivy audit", k)
	about := c.workload(k)
	var failed []any
	for _, check := range []struct{ id, title, severity, remedy string }{
		{"KSV014", "Root file system is not read-only", "HIGH", "set securityContext.readOnlyRootFilesystem to true"},
		{"KSV001", "Can elevate its own privileges", "MEDIUM", "set securityContext.allowPrivilegeEscalation to false"},
		{"KSV012", "Runs as root user", "MEDIUM", "set securityContext.runAsNonRoot to true"},
		{"KSV104", "Seccomp policies disabled", "MEDIUM", "set securityContext.seccompProfile.type to RuntimeDefault"},
		{"KSV011", "CPU not limited", "LOW", "set resources.limits.cpu"},
		{"KSV018", "Memory not limited", "LOW", "set resources.limits.memory"},
	} {
		if len(failed) > 0 && random.IntN(2) == 0 {
			continue // By default, Trivy Operator leaves out what passes.
		}
		failed = append(failed, map[string]any{
			"checkID": check.id, "title": check.title, "severity": check.severity,
			"category": "Kubernetes Security Check", "success": false, "remediation": check.remedy,
			"messages": []any{fmt.Sprintf("Container %s of %s %s should %s", about.app(), about.kind, about.name, check.remedy)},
		})
	}
	made := c.scanned("ConfigAuditReport", &about, random, failed)
	made.scan["checks"] = failed
	return made.object()
}

// scanned returns a report of Trivy Operator with what all of its kinds have.
func (c Cluster) scanned(kind string, about *subject, random *rand.Rand, findings []any) report {
	counts := count(findings, "severity")
	return report{
		kind: Kind{TrivyGroup + "/v1alpha1", kind, strings.ToLower(kind) + "s", true},
		name: strings.ToLower(about.kind) + "-" + about.name, namespace: about.namespace, about: about,
		labels: map[string]any{
			"trivy-operator.resource.kind":      about.kind,
			"trivy-operator.resource.name":      about.name,
			"trivy-operator.resource.namespace": about.namespace,
		},
		scan: map[string]any{
			"scanner":         map[string]any{"name": "Trivy", "vendor": "Aqua Security", "version": "0.72.0"},
			"updateTimestamp": c.ago(random).Format(time.RFC3339),
			"summary": map[string]any{
				"criticalCount": counts["CRITICAL"], "highCount": counts["HIGH"], "mediumCount": counts["MEDIUM"], "lowCount": counts["LOW"],
				"unknownCount": int64(0),
			},
		},
	}
}
