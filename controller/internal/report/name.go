// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	namespacedPrefix = "polr-ns-"
	clusterPrefix    = "clusterpolicyreport"
	// suffixLength is that of a hash at the end of a name, 40 bits in hexadecimal digits.
	suffixLength = 10
)

// reportName is the name of a chunk of the report on a policy, or, if the policy is the zero
// one, on all policies, in a namespace or of cluster-scoped subjects.
//
// A name ends in a hash exactly if one is added here, so that two reports never share a name:
// a name that has the look of one with a hash gets another.
func reportName(id policy.Identity, namespace string, chunk int) string {
	name := clusterPrefix
	if namespace != "" {
		name = namespacedPrefix + namespace
	}
	plain := chunk == 0
	if id.Name != "" {
		name += "-" + id.Name
		plain = plain && id.Kind == policy.ClusterPolicy && !looksHashed(id.Name)
	}
	if plain && len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	var hashed string
	if id.Name != "" {
		hashed = id.String()
	}
	if chunk > 0 {
		hashed += "#" + strconv.Itoa(chunk)
	}
	return withSuffix(name, hashed, validation.DNS1123SubdomainMaxLength)
}

// withSuffix returns name, cut if it has to be, and the hash of text: limit bytes at most.
func withSuffix(name, text string, limit int) string {
	if room := limit - suffixLength - 1; len(name) > room {
		name = strings.ToValidUTF8(name[:room], "")
	}
	sum := sha256.Sum256([]byte(text))
	// Before the hash and its hyphen, another hyphen or a dot makes an invalid name.
	return strings.TrimRight(name, "-.") + "-" + hex.EncodeToString(sum[:])[:suffixLength]
}

// looksHashed reports whether a name ends like one that [withSuffix] made.
func looksHashed(name string) bool {
	cut := len(name) - suffixLength
	if cut < 0 || cut > 0 && name[cut-1] != '-' {
		return false
	}
	return strings.Trim(name[cut:], "0123456789abcdef") == ""
}

// shorten keeps a text that fits and replaces the end of one that does not by its hash, so
// that different texts stay different.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return withSuffix(text, text, limit)
}
