// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package walkthrough runs the commands of a page of documentation as a reader does:
// as they are written, in one shell, from top to bottom.
package walkthrough

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is a page of documentation.
type Page struct {
	// Name is the path of its file below the root of the repository.
	Name string
	// Blocks are its blocks of code, in their order.
	Blocks []Block
}

// Block is a block of code: indented, or between fences.
type Block struct {
	// Name is the heading above the block and, where that has several blocks, the
	// block's number below it: "4a. With kustomize", "4a. With kustomize #2".
	Name string
	// Language is what the fence says; "" for indented blocks.
	Language string
	// Text is what the block says, without its indentation.
	Text string
}

// Programs are the commands with which a line for the shell begins. What else an indented block
// has is what such a command prints, or a file.
var programs = []string{ // A list.
	"bin/docket-controller", "curl", "docker", "docket", "docket-controller", "export", "git", "go", "helm", "kubectl", "make",
	"pg_dump", "pg_restore", "psql", "sed", "sqlite3",
}

// Commands are the commands of the block, continued lines and all, without what
// they print. In blocks of the language console they are the lines that begin with a prompt, if any does.
func (b Block) Commands() []string {
	commands, _ := b.parse()
	return commands
}

// Outputs are what the page shows below each of the Commands.
func (b Block) Outputs() []string {
	_, outputs := b.parse()
	return outputs
}

func (b Block) parse() (commands, outputs []string) {
	if b.Language != "" && b.Language != "console" && b.Language != "sh" {
		return nil, nil
	}
	prompts := b.Language == "console" && strings.Contains("\n"+b.Text, "\n$ ")
	continued, heredoc := false, ""
	for line := range strings.Lines(b.Text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case heredoc != "":
			commands[len(commands)-1] += "\n" + line
			if line == heredoc {
				heredoc = ""
			}
			continue
		case continued:
			commands[len(commands)-1] += "\n" + line
		case prompts && strings.HasPrefix(line, "$ "):
			commands = append(commands, strings.TrimPrefix(line, "$ "))
		case !prompts && isCommand(line):
			commands = append(commands, line)
		default:
			if len(outputs) > 0 {
				outputs[len(outputs)-1] += line + "\n"
			}
			continue
		}
		outputs = append(outputs, "")[:len(commands)]
		continued = strings.HasSuffix(line, `\`)
		if _, word, found := strings.Cut(line, "<<'"); found {
			heredoc = strings.TrimSuffix(word, "'")
		}
	}
	return commands, outputs
}

var assignment = regexp.MustCompile(`^[A-Z]+=\S* `)

// isCommand reports whether a line begins with a program, or a variable for one.
func isCommand(line string) bool {
	line = assignment.ReplaceAllString(line, "")
	first, _, _ := strings.Cut(line, " ")
	return slices.Contains(programs, first)
}

// Read reads a page. root is the root of the repository.
func Read(root, name string) (Page, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return Page{}, err
	}
	r := reader{page: Page{Name: name}, count: map[string]int{}}
	for line := range strings.Lines(string(data)) {
		r.line(strings.TrimRight(line, "\n"))
	}
	r.end()
	return r.page, nil
}

// Block returns the block of that name.
func (p Page) Block(name string) (Block, error) {
	for _, block := range p.Blocks {
		if block.Name == name {
			return block, nil
		}
	}
	return Block{}, fmt.Errorf("%s has no block of code %q", p.Name, name)
}

// reader reads a page line by line.
type reader struct {
	page    Page
	heading string
	count   map[string]int // blocks below a heading

	open     bool   // lines belong to a block
	fence    string // its indentation and fence; "" for an indented block
	language string
	lines    []string
}

func (r *reader) line(line string) {
	trimmed := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(trimmed)]
	switch {
	case r.fence != "" && line == r.fence:
		r.end()
	case r.fence != "":
		r.lines = append(r.lines, strings.TrimPrefix(line, strings.TrimSuffix(r.fence, "```")))
	case strings.HasPrefix(trimmed, "```"):
		r.end()
		r.open, r.fence, r.language = true, indent+"```", strings.TrimPrefix(trimmed, "```")
	case len(indent) >= 4 && trimmed != "":
		r.open = true
		r.lines = append(r.lines, line)
	case trimmed == "" && r.open:
		r.lines = append(r.lines, "")
	default:
		r.end()
		if text, ok := strings.CutPrefix(line, "#"); ok {
			r.heading = strings.TrimLeft(text, "# ")
		}
	}
}

// end ends the block, if there is one.
func (r *reader) end() {
	if r.open {
		r.count[r.heading]++
		name := r.heading
		if n := r.count[r.heading]; n > 1 {
			name = fmt.Sprintf("%s #%d", name, n)
		}
		text := strings.TrimRight(strings.Join(outdented(r.lines), "\n"), "\n") + "\n"
		r.page.Blocks = append(r.page.Blocks, Block{name, r.language, text})
	}
	r.open, r.fence, r.language, r.lines = false, "", "", nil
}

// outdented takes off the indentation that all lines share.
func outdented(lines []string) []string {
	shared := -1
	for _, line := range lines {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); line != "" && (shared < 0 || indent < shared) {
			shared = indent
		}
	}
	cut := make([]string, len(lines))
	for i, line := range lines {
		cut[i] = line[min(max(shared, 0), len(line)):]
	}
	return cut
}
