// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
)

// Summary is one line with the numbers.
func (f *Findings) Summary() string {
	total := f.Total()
	return fmt.Sprintf("%s, %s: %d pass, %d fail, %d warn, %d error, %d skip",
		counted(int64(len(f.presentations)), "policy", "policies"), counted(int64(f.Resources()), "resource", "resources"), total.Pass, total.Fail, total.Warn, total.Error, total.Skip)
}

// counted is a number with its noun.
func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// OneLine makes a text a single line. Policies and resources come from others, and their control characters
// could control the terminal.
func OneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}

// PrintReports writes the reports as one list that kubectl apply accepts, in JSON or YAML. It encodes one report
// at a time, since all of them together may be large.
func PrintReports(w io.Writer, reports iter.Seq[report.Accessor], asJSON bool) error {
	begin, between, end, encode := "apiVersion: v1\nkind: List\nitems:\n", "", "", encodeYAML
	if asJSON {
		begin, between, end, encode = "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [\n", ",\n", "\n  ]\n}\n", encodeJSON
	}
	buffered := bufio.NewWriter(w)
	first := true
	for one := range reports {
		text, err := encode(one)
		if err != nil {
			return fmt.Errorf("encode the report %s: %w", one.GetName(), err)
		}
		before := between
		if first {
			before, first = begin, false
		}
		// Flush returns the first error of the writer.
		_, _ = buffered.WriteString(before)
		_, _ = buffered.Write(text)
	}
	switch {
	case first && asJSON:
		_, _ = buffered.WriteString(begin + end)
	case first:
		_, _ = buffered.WriteString("apiVersion: v1\nkind: List\nitems: []\n")
	default:
		_, _ = buffered.WriteString(end)
	}
	return buffered.Flush()
}

func encodeJSON(one report.Accessor) ([]byte, error) {
	const indent = "    "
	text, err := json.MarshalIndent(one, indent, "  ")
	return append([]byte(indent), text...), err
}

// encodeYAML returns the report as an indented item of a list.
func encodeYAML(one report.Accessor) ([]byte, error) {
	text, err := yaml.Marshal(one)
	if err != nil {
		return nil, err
	}
	var item []byte
	mark := "- "
	for line := range bytes.Lines(text) {
		if len(line) > 1 { // Empty lines are not indented: they are part of a text.
			item = append(item, mark...)
		}
		item = append(item, line...)
		mark = "  "
	}
	return item, nil
}
