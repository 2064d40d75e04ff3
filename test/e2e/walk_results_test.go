// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// followResults follows results.md on the demo, and wants what the page shows.
func (w *walker) followResults() {
	w.t.Helper()
	root := w.shell.Run(w.t, "pwd")
	w.shell.Run(w.t, "cd ~") // Files are written there.
	for _, name := range []string{
		"With kubectl", "With kubectl #2", "With kubectl #3", "With kubectl #4", "With kubectl #5", "All clusters of a database", "All clusters of a database #2",
		"With docket results", "I want to see …", "Reports with kubectl", "With SQL",
	} {
		block := w.block(resultsPage, name)
		for i, command := range block.Commands() {
			output, code := w.shell.Try(w.t, command)
			if want := strings.HasPrefix(command, "docket results diff"); (code != 0) != want || code > 1 {
				w.t.Fatalf("$ %s\n%sexit code %d", command, output, code)
			}
			if output == "" && !strings.Contains(command, " > ") {
				w.t.Errorf("$ %s\nprints nothing", command)
			}
			wantShown(w.t, command, output, block.Outputs()[i])
		}
	}
	w.shell.Run(w.t, "cd "+root)
}

// elapsed is what is another at each run: ages and times.
var elapsed = regexp.MustCompile(`^(\d+[smhd])+$|^"?\d{4}-\d\d-\d\dT`)

// words are the words of a line that are the same at each run.
func words(line string) string {
	var same []string
	for _, word := range strings.Fields(line) {
		if !elapsed.MatchString(word) {
			same = append(same, word)
		}
	}
	return strings.Join(same, " ")
}

// wantShown fails the test unless the lines of a page are among those that a command printed.
func wantShown(t *testing.T, command, output, shown string) {
	t.Helper()
	printed := map[string]bool{"": true, "\u2026": true}
	for line := range strings.Lines(output) {
		printed[words(line)] = true
	}
	for line := range strings.Lines(shown) {
		if !printed[words(line)] {
			t.Errorf("$ %s\n%.3000sThe page shows %s", command, output, line)
		}
	}
}

// openConsoles follows console.md: a browser without a window opens each link that is printed.
func (w *walker) openConsoles() {
	w.t.Helper()
	for _, command := range w.block(consolePage, "Results in a browser").Commands() {
		w.start("env --unset=DOCKET_LISTEN "+command, "sign-in?token=")
		w.shell.Run(w.t, `link=$(grep --only-matching 'http://127[^ ]*' ~/log); rm --force ~/jar`)
		wantOutput(w.t, w.shell.Run(w.t, `curl --silent --show-error --fail --cookie-jar ~/jar "$link"`), "Continue")
		wantOutput(w.t, w.shell.Run(w.t, `curl --silent --show-error --fail --cookie ~/jar "${link%/sign-in*}/apis/results.docket.dev/v1alpha1/policysummaries"`), "PolicySummaryList")
		w.shell.Run(w.t, "kill -INT $started; wait $started")
	}
}
