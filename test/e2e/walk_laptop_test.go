// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// newLaptop is a walker in the repository itself, with Go, for a docket up on a port of its own.
func newLaptop(t *testing.T) *walker {
	t.Helper()
	root := testkit.Must(filepath.Abs(repository))(t)
	w := newWalker(t, "")
	for _, variable := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		w.shell.Run(t, fmt.Sprintf("export %s=%q", variable, goEnvironment(t, root, variable)))
	}
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	w.shell.Run(t, "export GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false DOCKET_LISTEN="+address)
	w.shell.Run(t, "cd "+root)
	w.shell.Replace("127.0.0.1:7443", address)
	return w
}

// start runs a command of a page in the background, and waits for the words that say that it is ready.
func (w *walker) start(command, ready string) {
	w.t.Helper()
	command, _, _ = strings.Cut(command, " #") // Or the ampersand would be in the comment.
	w.shell.Run(w.t, ": > ~/log")              // Or the words of the command before were still there.
	w.shell.Run(w.t, command+" > ~/log 2>&1 & started=$!")
	w.want("cat ~/log", ready)
}

// scanned runs a command; a scan that finds failures ends with 1.
func (w *walker) scanned(command string) string {
	w.t.Helper()
	output, code := w.shell.Try(w.t, command)
	if want := map[bool]int{true: 1}[strings.Contains(command, "docket-controller scan")]; code != want {
		w.t.Fatalf("$ %s\n%sexit code %d, want %d", command, output, code, want)
	}
	return output
}

// end ends what start has started.
func (w *walker) end() {
	w.t.Helper()
	// go run ends with its child; by itself it would leave it behind.
	w.shell.Run(w.t, "pkill --parent $started || kill $started; wait $started || true")
}

// TestWalkReadme follows the first screens of the README, and wants what they show.
func TestWalkReadme(t *testing.T) {
	t.Parallel()
	harness.ControllerBinary(t)
	w := newLaptop(t)
	first := w.block(readmePage, "In a minute #2")
	commands, shown := first.Commands(), first.Outputs()
	w.start(commands[0], "demo reports  3000/3000  100%")
	log := w.shell.Run(t, "cat ~/log")
	wantOutput(t, log, "Docket is ready at https://127.0.0.1:", "Reports are kept in ", "'SELECT * FROM clusters'")
	w.shell.Run(t, "export KUBECONFIG=~/.docket/kubeconfig")
	list := w.shell.Run(t, commands[1])
	wantSameWords(t, firstLine(list), firstLine(shown[1]))
	if got := w.shell.Run(t, commands[2]); got != shown[2] {
		t.Errorf("$ %s\n%swant, as the page says,\n%s", commands[2], got, shown[2])
	}

	w.shell.Run(t, w.block(readmePage, "In a minute #3").Commands()[0])
	wantOutput(t, w.shell.Run(t, "docket results why cronjob/catalog-00072 -n shop"), "CronJob/catalog-00072: 19 fail")
	loop := w.block(readmePage, "Three doors")
	for i, command := range loop.Commands() {
		output := w.scanned(command)
		if strings.Contains(command, "docket-controller scan") {
			wantOutput(t, output, strings.TrimPrefix(loop.Outputs()[i], "…\n"))
		}
	}
	wantOutput(t, w.shell.Run(t, "kubectl get polr,cpolr -A"), "policyreport.wgpolicyk8s.io/polr-ns-playground-memory-limits")
	w.end()
	w.start(w.block(readmePage, "In a minute").Commands()[0], "Docket is ready")
	wantOutput(t, w.shell.Run(t, "kubectl get polr,cpolr -A"), "policyreport.wgpolicyk8s.io/polr-ns-playground-memory-limits")
	w.end()
}

// TestWalkUp follows up.md, and with what it starts results.md and console.md.
func TestWalkUp(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	w := newLaptop(t)
	commands := w.block(upPage, "docket up: everything on one machine").Commands()
	w.start(commands[0], "demo reports  3000/3000  100%")
	for _, command := range commands[1:] {
		w.shell.Run(t, command)
	}
	wantOutput(t, w.follow(upPage, "Who may do what"), "ok", "PolicyReportList")
	w.followResults()
	running := w.shell.Run(t, "echo $started")
	w.openConsoles()
	w.shell.Run(t, "started="+running)
	w.end()
	w.shell.Replace("postgres://me@db:5432/reports?sslmode=verify-full", testenv.Postgres(t).Database(t))
	w.start(w.block(upPage, "Several at once").Commands()[0], "is ready at")
	w.end()
}

// TestWalkLaptop follows scan.md, which needs no cluster.
func TestWalkLaptop(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	harness.ControllerBinary(t)
	w := newLaptop(t)
	build := w.block(scanPage, "On a laptop").Commands()
	w.shell.Run(t, build[0])
	if output, code := w.shell.Try(t, build[1]); code != 1 || !strings.Contains(output, "pinned-images") {
		t.Errorf("$ %s\n%sexit code %d, want 1 and the policy pinned-images", build[1], output, code)
	}
	overlay := filepath.Join(w.dir, "overlay")
	w.put("overlay/kustomization.yaml", "resources: [shop.yaml]\n")
	testkit.NoError(t, os.Link(filepath.Join(w.dir, "examples", "app", "shop.yaml"), filepath.Join(overlay, "shop.yaml")))
	w.shell.Replace("overlays/prod", overlay, "--policy policies/", "--policy examples/policies/")
	pipe := w.block(scanPage, "On a laptop #2").Commands()[0]
	if output, code := w.shell.Try(t, pipe); code != 1 || !strings.Contains(output, "shop") {
		t.Errorf("$ %s\n%sexit code %d, want 1", pipe, output, code)
	}

	up := w.block(scanPage, "Keep the reports").Commands()
	w.start(up[0], "is ready at")
	for _, command := range up[1:] {
		if output := w.scanned(command); strings.Contains(command, "pinned-images") {
			wantOutput(t, output, "polr-ns-shop-pinned-images")
		}
	}
	run := w.block(scanPage, "Keep the reports #2").Commands()
	for _, command := range run {
		command, _, _ = strings.Cut(command, " #")
		switch {
		case strings.Contains(command, "docket-controller run"):
			w.shell.Run(t, command+" > ~/run.log 2>&1 &")
		case strings.HasSuffix(command, " -w"):
			w.shell.Run(t, command+" > ~/watch.log 2>&1 &")
		default:
			w.shell.Run(t, command)
		}
	}
	w.want("cat ~/watch.log", "polr-ns-shop-pinned-images")
	before := w.block(scanPage, "On a laptop #3").Commands()[0]
	if output, code := w.shell.Try(t, before); code != 1 || !strings.Contains(output, "pinned-images") {
		t.Errorf("$ %s\n%sexit code %d, want 1 and a policy of the cluster", before, output, code)
	}
	w.end()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// wantSameWords compares two lines without regard to how wide their columns are.
func wantSameWords(t *testing.T, got, want string) {
	t.Helper()
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("%s\nwant, as the page says,\n%s", got, want)
	}
}

// goEnvironment returns a variable of the go command.
func goEnvironment(t *testing.T, root, name string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "env", name)
	command.Dir = root
	output := testkit.Must(command.Output())(t)
	return strings.TrimSpace(string(output))
}

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
