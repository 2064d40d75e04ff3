// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	ellipsis = "…"
	// frame is an upper bound of the JSON of a result without its texts: field names, punctuation,
	// numbers, outcome and severity. Sizes are in bytes.
	frame = 288
	// reserve is kept free in a report in addition to its largest result: for names, labels and the
	// presentation of the policy, all of which are bounded, and for what servers add.
	reserve = 16 << 10
	// longText is the longest text of a presentation or reference.
	longText = 512
	// serverBytes is kept free in each report for what a server adds to its metadata.
	serverBytes = 1 << 10
)

// quoted returns the size of a valid text as encoded by encoding/json, with its quotes.
func quoted(text string) int {
	size := len(text) + 2
	for i := 0; i < len(text); i++ {
		size += escape(text, i)
	}
	return size
}

// escape returns the number of bytes that encoding/json adds to escape the byte at i.
func escape(text string, i int) int {
	switch b := text[i]; {
	case b == '"' || b == '\\' || b == '\n' || b == '\r' || b == '\t' || b == '\b' || b == '\f':
		return 1
	case b < 0x20 || b == '<' || b == '>' || b == '&':
		return 5
	case b == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
		return 3
	default:
		return 0
	}
}

// fit makes a text valid UTF-8 and cuts it to at most limit bytes as quoted.
func fit(text string, limit int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if len(text)*6+2 <= limit || quoted(text) <= limit {
		return text
	}
	size := 2 + len(ellipsis)
	for i, r := range text {
		if size += utf8.RuneLen(r) + escape(text, i); size > limit {
			return text[:i] + ellipsis
		}
	}
	return text
}

// fitProperties returns properties as JSON of at most limit bytes; empty if there are none. Keys and values
// are cut evenly; if there are too many, the last ones are left out.
func fitProperties(properties map[string]string, limit int) string {
	if len(properties) == 0 {
		return ""
	}
	if data := encode(properties); len(data) <= limit && !strings.Contains(data, `\ufffd`) {
		return data
	}
	// Properties that fit come here, too, if they have invalid UTF-8, which JSON would change.
	each := max((limit-2)/len(properties), 128)
	bounded, size := make(map[string]string, len(properties)), 2
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		short := fit(shorten(key, each/4), each/2)
		value := fit(properties[key], each-quoted(short)-2)
		if size += quoted(short) + quoted(value) + 2; size > limit {
			break
		}
		bounded[short] = value
	}
	return encode(bounded)
}

// encode returns no error, since encoding/json accepts every map of strings.
func encode(properties map[string]string) string {
	data, err := json.Marshal(properties)
	if err != nil {
		return ""
	}
	return string(data)
}

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
