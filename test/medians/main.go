// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command medians copies what a benchmark prints that runs several times, and then prints the rows of its tables once
// more with the median of each number:
//
//	for run in 1 2 3; do make bench-cluster RUNS=1; done | go run ./test/medians --runs 3
//
// Rows are the same if they have the same first cell and the same text between numbers. Those that differ between
// runs, such as lists of requests, are left out at the end.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	runs := flag.Int("runs", 3, "how often the benchmark runs")
	flag.Parse()
	if err := medians(os.Stdin, os.Stdout, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "medians:", err)
		os.Exit(1)
	}
}

// medians fails if nothing was printed as often as the benchmark was to run: then it had no tables, or has failed.
func medians(in io.Reader, out io.Writer, runs int) error {
	rows := &table{found: map[string][]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if _, err := io.WriteString(out, line); err != nil {
			return err
		}
		// Before the first row, go test has printed the benchmark's name on the same line.
		if start := strings.Index(line, "| "); start >= 0 {
			rows.add(strings.TrimSpace(line[start:]))
		} else if strings.HasPrefix(line, "|---") {
			rows.add(strings.TrimSpace(line))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if runs < 2 {
		return nil
	}
	text := rows.medians(runs)
	if text == "" {
		return fmt.Errorf("no row was printed by each of %d runs", runs)
	}
	_, err := fmt.Fprintf(out, "\nMedians of %d runs\n%s", runs, text)
	return err
}

// table has rows in the order in which they were printed.
type table struct {
	rows  []row
	found map[string][]string
}

type row struct{ key, text string }

// number is one as benchmarks print it, with commas between thousands.
var number = regexp.MustCompile(`\d+(,\d{3})*(\.\d+)?`)

func (t *table) add(text string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(text, "| "), " |")
	key := first + "|" + number.ReplaceAllString(rest, "0")
	t.rows = append(t.rows, row{key, text})
	t.found[key] = append(t.found[key], text)
}

func (t *table) medians(runs int) string {
	var text strings.Builder
	seen := map[string]int{}
	for _, r := range t.rows {
		found := t.found[r.key]
		each, i := len(found)/runs, seen[r.key]
		seen[r.key]++
		if len(found) != each*runs || i >= each {
			continue
		}
		var same []string
		for run := range runs {
			same = append(same, found[run*each+i])
		}
		text.WriteString(merge(same) + "\n")
	}
	return text.String()
}

// merge takes each number from the row that has its median; of an even number of rows, the lower one.
func merge(rows []string) string {
	numbers := make([][]string, len(rows))
	for i, row := range rows {
		numbers[i] = number.FindAllString(row, -1)
	}
	at := 0
	return number.ReplaceAllStringFunc(rows[0], func(string) string {
		column := make([]string, len(rows))
		for i := range rows {
			column[i] = numbers[i][at]
		}
		at++
		slices.SortFunc(column, func(a, b string) int { return cmp.Compare(value(a), value(b)) })
		return column[(len(column)-1)/2]
	})
}

func value(text string) float64 {
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		panic(err) // The pattern has only numbers.
	}
	return f
}
