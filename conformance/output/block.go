// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/docket-project/docket/conformance/runner"
)

// block is some text under headings, indented.
type block struct{ text strings.Builder }

// headingWidth is the width of the longest heading and a space.
const headingWidth = 11

// add writes a heading and its text, which may have several lines; nothing if there is no text.
func (b *block) add(heading, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(visible(text)) {
		line = strings.TrimRight(line, "\n")
		b.text.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s%s", headingWidth, heading, line), " ") + "\n")
		heading = ""
	}
}

// exchange writes the request and the answer.
func (b *block) exchange(e *runner.Exchange, aboutManagers bool) {
	if e == nil {
		return
	}
	b.add("Sent", message(e.Sent.Method+" "+e.Sent.URL, e.Sent.Headers, e.Sent.Body, aboutManagers))
	if e.Received == nil {
		b.add("Received", "no answer")
		return
	}
	code := strings.TrimSpace(strconv.Itoa(e.Received.Code) + " " + http.StatusText(e.Received.Code))
	b.add("Received", message(code, e.Received.Headers, e.Received.Body, aboutManagers))
}

// message is what HTTP looks like.
func message(first string, headers map[string]string, body string, aboutManagers bool) string {
	lines := []string{first}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+headers[name])
	}
	if body != "" {
		lines = append(append(lines, ""), bodyLines(body, aboutManagers)...)
	}
	return strings.Join(lines, "\n")
}

// details are the texts about a result that all formats for people have.
func details(result *runner.Result) string {
	var b block
	b.add("Rule", result.Check.Rule)
	b.add("Reference", result.Check.Reference)
	exchange := result.Exchange
	if result.Failure != nil {
		exchange = result.Failure.Exchange
	}
	b.add("Reason", result.Reason)
	b.exchange(exchange, aboutManagers(result))
	if result.Failure != nil {
		b.add("Expected", result.Failure.Expected)
		b.add("Found", result.Failure.Found)
	}
	return b.text.String()
}

// aboutManagers reports whether a result can't be understood without managedFields, which are long.
func aboutManagers(result *runner.Result) bool {
	text := result.Check.Rule + result.Reason
	if result.Failure != nil {
		text += result.Failure.Expected + result.Failure.Found
	}
	return strings.Contains(strings.ToLower(text), "manage")
}

// title names a check, and the resource if it is about one.
func title(result *runner.Result) string {
	return strings.TrimSpace(result.Check.ID + " " + result.Resource)
}

// troubleTitle says what a trouble is about.
func troubleTitle(trouble runner.Trouble) string {
	if trouble.Resource == "" {
		return "the run"
	}
	return trouble.Resource
}

// troubleDetails are the texts about a trouble.
func troubleDetails(trouble runner.Trouble) string {
	var b block
	b.add("Reason", trouble.Reason)
	b.exchange(trouble.Exchange, false)
	return b.text.String()
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
