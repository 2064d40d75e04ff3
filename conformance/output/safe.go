// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/docket-project/docket/conformance/runner"
)

// hidden stands for what is not shown.
const hidden = "(hidden)"

// secretHeaders are those whose values let somebody else in.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"}

// safe returns a copy of a report without credentials: checks may send some of their own making.
func safe(report *runner.Report) *runner.Report {
	out := *report
	if address, err := url.Parse(out.Server); err == nil {
		out.Server = address.Redacted()
	}
	out.Results = slices.Clone(report.Results)
	for i := range out.Results {
		result := &out.Results[i]
		result.Exchange = safeExchange(result.Exchange)
		if result.Failure != nil {
			failure := *result.Failure
			failure.Exchange = safeExchange(failure.Exchange)
			result.Failure = &failure
		}
	}
	out.Troubles = slices.Clone(report.Troubles)
	for i := range out.Troubles {
		out.Troubles[i].Exchange = safeExchange(out.Troubles[i].Exchange)
	}
	return &out
}

func safeExchange(exchange *runner.Exchange) *runner.Exchange {
	if exchange == nil {
		return nil
	}
	out := *exchange
	out.Sent.Headers = safeHeaders(out.Sent.Headers)
	if out.Received != nil {
		received := *out.Received
		received.Headers = safeHeaders(received.Headers)
		out.Received = &received
	}
	return &out
}

func safeHeaders(headers map[string]string) map[string]string {
	out := maps.Clone(headers)
	for name := range out {
		if slices.Contains(secretHeaders, http.CanonicalHeaderKey(name)) {
			out[name] = hidden
		}
	}
	return out
}

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
