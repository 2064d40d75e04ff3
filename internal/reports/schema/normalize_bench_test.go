// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/json"
)

// benchmarkReport is a report as Kyverno's client sends it: 17 results of some 400 bytes,
// with fields in the order of its Go types.
func benchmarkReport() []byte {
	var results []string
	for i := range 17 {
		results = append(results, fmt.Sprintf(`{"source":"kyverno","policy":"policy-%d","rule":"rule","category":"Pod Security Standards (Restricted)",`+
			`"severity":"medium","timestamp":{"seconds":1763800000,"nanos":0},"result":"fail","scored":true,`+
			`"message":"validation error: Running as root is not allowed. The field spec.securityContext.runAsNonRoot must be true. rule failed at path /spec/securityContext/%d/",`+
			`"properties":{"controls":"runAsNonRoot","standard":"restricted","version":"latest"}}`, i, i))
	}
	return []byte(`{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2","metadata":{"name":"x","namespace":"a"},` +
		`"scope":{"kind":"Pod","namespace":"a","name":"web","uid":"u","apiVersion":"v1"},` +
		`"summary":{"pass":0,"fail":17,"warn":0,"error":0,"skip":0},"results":[` + strings.Join(results, ",") + `]}`)
}

// benchmarkVulnerabilities is an object as Trivy's operator sends it: 300 vulnerabilities of some 800 bytes, with
// fields in the order of its Go types.
func benchmarkVulnerabilities() []byte {
	var all []string
	for i := range 300 {
		all = append(all, fmt.Sprintf(`{"vulnerabilityID":"CVE-2024-%d","resource":"libssl3","installedVersion":"3.0.11-1~deb12u2","fixedVersion":"3.0.%d-1",`+
			`"publishedDate":"2024-01-15T12:15:08Z","lastModifiedDate":"2024-11-21T08:10:11Z","severity":"HIGH",`+
			`"title":"openssl: possible denial of service while checking an excessively long invalid key","primaryLink":"https://avd.aquasec.com/nvd/cve-2024-%d",`+
			`"links":["https://access.redhat.com/security/cve/CVE-2024-1","https://nvd.nist.gov/vuln/detail/CVE-2024-1","https://www.cve.org/CVERecord?id=CVE-2024-1"],`+
			`"score":%d.%d,"target":"registry.example.com/team/web:1.2.3 (debian 12.4)","class":"os-pkgs","packageType":"debian","packagePURL":"pkg:deb/debian/libssl3@3.0.11?arch=amd64",`+
			`"cvss":{"nvd":{"V3Vector":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:L","V3Score":5.3}}}`, i, i, i, i%10, 1+i%9))
	}
	return []byte(`{"apiVersion":"example.com/v1","kind":"Vulnerability","metadata":{"name":"x","namespace":"a"},"report":{"updateTimestamp":"2026-01-02T03:04:05Z",` +
		`"scanner":{"name":"Trivy","vendor":"Aqua","version":"0.60"},"registry":{"server":"r"},"artifact":{"repository":"team/web","tag":"1"},"os":{"family":"debian","name":"12"},` +
		`"summary":{"criticalCount":0,"highCount":300,"mediumCount":0,"lowCount":0,"unknownCount":0},"vulnerabilities":[` + strings.Join(all, ",") + `]}}`)
}

// BenchmarkRead compares the pass over the JSON with the library's way.
func BenchmarkRead(b *testing.B) {
	all := map[string]*Schema{}
	for _, s := range allSchemas(b) {
		all[s.Kind.Kind] = s
	}
	for _, c := range []struct {
		name string
		s    *Schema
		data []byte
	}{
		{"report", all["PolicyReport"], benchmarkReport()},
		{"vulnerabilities", all["Vulnerability"], benchmarkVulnerabilities()},
	} {
		parts, ok := c.s.Normalize(c.data)
		if !ok || !parts.Valid {
			b.Fatal("not accepted")
		}
		measure := func(of string, data []byte, do func() error) {
			b.Run(of+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		measure("normalize", c.data, func() error { return asError(second(c.s.Normalize(c.data))) })
		measure("stored", parts.Body, func() error { return asError(c.s.Stored(parts.Body)) })
		members := append([]byte(","), parts.Body[1:]...)
		paths := CompilePaths([]string{".report.summary.criticalCount", ".summary.pass", ".scope.name"})
		measure("only", members, func() error { return asError(second(Only(members, paths))) })
		measure("library", c.data, func() error {
			var content map[string]any
			if _, err := json.UnmarshalStrict(c.data, &content); err != nil {
				return err
			}
			if _, _, err := c.s.Coerce(content, Options{WantUnknown: true}); err != nil {
				return err
			}
			if errs := c.s.Validate(b.Context(), content, nil); len(errs) > 0 {
				return errs.ToAggregate()
			}
			_, err := Canonical(content)
			return err
		})
	}
}

func second[T any](_ T, ok bool) bool { return ok }

func asError(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("not accepted")
}
