// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// mostLines is how many lines of a body are shown to people.
	mostLines = 40
	// mostColumns is how long a line of it may be.
	mostColumns = 1000
	// cutMark ends bodies that the run has cut already.
	cutMark = " …"
)

// bodyLines returns the lines of a body as people read them: JSON with a line for each field. If it is
// long, managedFields are left out unless they matter, and then the end.
func bodyLines(body string, aboutManagers bool) []string {
	lines := strings.Split(pretty(body), "\n")
	if len(lines) > mostLines && !aboutManagers {
		lines = strings.Split(pretty(withoutManagers(body)), "\n")
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines:mostLines], fmt.Sprintf("… (%d more lines)", more))
	}
	for i, line := range lines {
		lines[i] = runner.Shorten(line, mostColumns)
	}
	return lines
}

// withoutManagers replaces metadata.managedFields of an object, or of the items of a list.
func withoutManagers(body string) string {
	var value map[string]any
	if json.Unmarshal([]byte(body), &value) != nil {
		return body
	}
	objects := []any{value}
	if items, ok := value["items"].([]any); ok {
		objects = append(objects, items...)
	}
	for _, object := range objects {
		fields, _ := object.(map[string]any)
		metadata, _ := fields["metadata"].(map[string]any)
		if managers, ok := metadata["managedFields"].([]any); ok {
			metadata["managedFields"] = fmt.Sprintf("(%d, not shown here)", len(managers))
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return body
	}
	return out.String()
}

// pretty breaks JSON into lines, also JSON that was cut.
func pretty(body string) string {
	body = strings.TrimSpace(body)
	isJSON := json.Valid([]byte(body)) || strings.HasSuffix(body, cutMark) && strings.HasPrefix(body, "{")
	if !isJSON {
		return body
	}
	var out strings.Builder
	depth, quoted, escaped := 0, false, false
	newLine := func() { out.WriteString("\n" + strings.Repeat("  ", depth)) }
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case quoted:
			out.WriteByte(c)
			quoted, escaped = escaped || c != '"', c == '\\' && !escaped
		case c == '"':
			quoted = true
			out.WriteByte(c)
		case strings.IndexByte(" \t\r\n", c) >= 0:
		case c == '{' || c == '[':
			if rest := strings.TrimLeft(body[i+1:], " \t\r\n"); rest != "" && rest[0] == c+2 { // } and ] come two after.
				out.WriteString(string(c) + string(c+2))
				i = len(body) - len(rest)
				continue
			}
			depth++
			out.WriteByte(c)
			newLine()
		case c == '}' || c == ']':
			depth = max(depth-1, 0)
			newLine()
			out.WriteByte(c)
		case c == ',':
			out.WriteByte(c)
			newLine()
		case c == ':':
			out.WriteString(": ")
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
