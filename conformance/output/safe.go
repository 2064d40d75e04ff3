// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible spells out the characters that can't be seen and that terminals take for commands, which
// are also those that XML does not allow.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, invisible) {
		return text
	}
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, string(utf8.RuneError)) {
		if invisible(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func invisible(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF
}
