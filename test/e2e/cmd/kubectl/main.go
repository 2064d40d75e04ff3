// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl is the real kubectl, at the version of the Kubernetes libraries in
// go.mod, so that the tests need none on the machine.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // Prints the error and ends with kubectl's exit codes.
		os.Exit(1)
	}
}
