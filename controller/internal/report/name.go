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
	// suffixLength is the length of a hash at the end of a name: 40 bits as hexadecimal digits.
	suffixLength = 10
)

// reportName returns the name of a chunk of the report on a policy, or on all policies if id is zero. Without
// a namespace, the report is about cluster-scoped subjects.
//
// A name looks as if it ended in a hash only if one is added here, so that two reports never share a name: a
// policy name that looks like that gets a hash, too, and so do all names of an instance that has a name.
func reportName(instance string, id policy.Identity, namespace string, chunk int) string {
	name := clusterPrefix
	if namespace != "" {
		name = namespacedPrefix + namespace
	}
	plain := chunk == 0 && instance == ""
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
	if instance != "" {
		hashed = instance + "@" + hashed // No identity has this character.
	}
	if chunk > 0 {
		hashed += "#" + strconv.Itoa(chunk)
	}
	return withSuffix(name, hashed, validation.DNS1123SubdomainMaxLength)
}

// withSuffix returns the name, cut if necessary, followed by the hash of text: at most limit bytes.
func withSuffix(name, text string, limit int) string {
	if room := limit - suffixLength - 1; len(name) > room {
		name = strings.ToValidUTF8(name[:room], "")
	}
	sum := sha256.Sum256([]byte(text))
	// A hyphen or dot before the hyphen of the hash would make the name invalid.
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
