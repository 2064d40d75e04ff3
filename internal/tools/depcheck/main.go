// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command depcheck compares the imports of our packages with the two tables in
// docs/develop/architecture.md, so that the picture there stays true.
//
// The first table says for every package which of our packages it may import, and
// which packages of others must not be among its dependencies, however far away. The
// second table names packages that only some of ours may import at all. A package
// that no row covers is an error, and so is a row that covers no package. Test files
// are free to import what they need.
//
// Usage, from the root of the repository:
//
//	go run ./internal/tools/depcheck --module=. --module=test/e2e
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

const tablesFile = "docs/develop/architecture.md"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "depcheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("depcheck", flag.ContinueOnError)
	var modules []string
	flags.Func("module", "folder of a module to check; can be repeated", func(folder string) error {
		modules = append(modules, folder)
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if len(modules) == 0 {
		return errors.New("no module to check: pass --module=FOLDER")
	}
	document, err := os.ReadFile(tablesFile)
	if err != nil {
		return err
	}
	tables, err := parseTables(document)
	if err != nil {
		return fmt.Errorf("%s: %w", tablesFile, err)
	}
	var packages []goPackage
	for _, module := range modules {
		listed, err := list(ctx, module)
		if err != nil {
			return err
		}
		packages = append(packages, listed...)
	}
	problems := check(tables, packages)
	for _, problem := range problems {
		fmt.Fprintln(out, problem)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d import(s) differ from %s: change the code, or the table together with its reason",
			len(problems), tablesFile)
	}
	fmt.Fprintf(out, "%d packages follow %s\n", len(packages), tablesFile)
	return nil
}

// list returns the packages of one module, with their dependencies.
func list(ctx context.Context, module string) ([]goPackage, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = module
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", module, err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var p goPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("read the output of go list in %s: %w", module, err)
		}
		packages = append(packages, p)
	}
}
