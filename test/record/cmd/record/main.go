// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command record records what a program says to a cluster about reports, and repeats it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/test/record"
)

// headerTimeout bounds how long a program may take to send a header.
const headerTimeout = 10 * time.Second

type options struct {
	kubeconfig, writeKubeconfig, listen, out string
	header                                   record.Header
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	var o options
	flags := pflag.NewFlagSet("record", pflag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "the way to the server")
	flags.StringVar(&o.writeKubeconfig, "write-kubeconfig", "", "record: where to write the way to the proxy")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "record: where the proxy listens")
	flags.StringVar(&o.out, "out", "", "record: where to write the recording")
	flags.StringVar(&o.header.Program, "program", "", "record: what is recorded")
	flags.StringVar(&o.header.Version, "program-version", "", "record: its version")
	flags.StringVar(&o.header.Source, "program-source", "", "record: where that was had from")
	flags.StringVar(&o.header.Did, "did", "", "record: what the program did, in one phrase")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	switch command := flags.Arg(0); {
	case command == "record" && flags.NArg() == 1:
		return recordRun(ctx, &o, config, out)
	case command == "replay" && flags.NArg() > 1:
		return replayFiles(ctx, config, flags.Args()[1:], out)
	}
	return errors.New("the command is record, with flags, or replay, with files: see --help")
}

// recordRun serves the proxy until it is interrupted, and writes the recording.
func recordRun(ctx context.Context, o *options, config *rest.Config, out io.Writer) (err error) {
	if slices.Contains([]string{o.out, o.writeKubeconfig, o.header.Program, o.header.Version, o.header.Source, o.header.Did}, "") {
		return errors.New("record needs --out, --write-kubeconfig, --program, --program-version, --program-source and --did")
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("version of the server: %w", err)
	}
	o.header.Server = "kube-apiserver " + version.GitVersion
	o.header.Recorded = time.Now().UTC().Format(time.DateOnly)
	proxy, err := record.NewProxy(config)
	if err != nil {
		return err
	}
	file, err := os.Create(o.out) // Before anything is recorded that could not be kept.
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	address := listener.Addr().String()
	if err := writeKubeconfig(o.writeKubeconfig, "http://"+address); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(out, "Recording; the program's kubeconfig is %s. Interrupt to end.\n", o.writeKubeconfig)
	select {
	case <-ctx.Done():
	case err := <-ended:
		return err
	}
	recording, err := proxy.Recording(o.header, secrets(address)...)
	if err := errors.Join(err, server.Close()); err != nil {
		return err
	}
	if err := recording.Write(file); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d requests\n", o.out, len(recording.Exchanges))
	return nil
}

// secrets are words that must not be in a recording.
func secrets(address string) []string {
	words := []string{address}
	if here, err := os.Getwd(); err == nil {
		words = append(words, here)
	}
	return words
}

func writeKubeconfig(path, server string) error {
	const name = "recorded"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("--write-kubeconfig: %w", err)
	}
	return nil
}

// replayFiles replays recordings and prints where the answers differ.
func replayFiles(ctx context.Context, config *rest.Config, paths []string, out io.Writer) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	replayer, err := record.NewReplayer(config)
	if err != nil {
		return err
	}
	total := 0
	for _, path := range paths {
		recording, err := record.Load(path)
		if err != nil {
			return err
		}
		if err := makeNamespaces(ctx, client, recording.Namespaces()); err != nil {
			return err
		}
		differences, err := replayer.Replay(ctx, recording)
		for _, difference := range differences {
			fmt.Fprintf(out, "%s: %v\n", filepath.Base(path), difference)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(out, "%s: %d requests, %d differences\n", filepath.Base(path), len(recording.Exchanges), len(differences))
		total += len(differences)
	}
	if total > 0 {
		return fmt.Errorf("%d difference(s)", total)
	}
	return nil
}

func makeNamespaces(ctx context.Context, client kubernetes.Interface, names []string) error {
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}
