// Command prices refreshes the price table of package catalog from AWS's published price lists: for the regions that the
// table has, the on-demand hour of each instance type of the accelerators' families, for Linux on shared machines, and the
// figures of gp3 volumes.
//
// It promises that a price is taken only when exactly one of the list fits, and that the file is written whole or not at
// all. It leaves out reserved and spot prices, taxes and discounts, and regions that the table does not have: add a row
// of one by hand first.
//
//	prices [-lists URL] [-date YYYY-MM-DD] FILE
package main

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"
)

// published is where AWS keeps its price lists, one file of some hundred megabytes for each region
// (https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api.html).
const published = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current"

func main() {
	lists := flag.String("lists", published, "where the lists are: <lists>/<region>/index.json")
	date := flag.String("date", time.Now().UTC().Format(time.DateOnly), "the date of the rows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := refresh(ctx, *lists, *date, flag.Args(), os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "prices: "+err.Error())
		os.Exit(1)
	}
}

// refresh rewrites the file with what the lists say.
func refresh(ctx context.Context, lists, date string, arguments []string, report io.Writer) error {
	if len(arguments) != 1 {
		return fmt.Errorf("wants the file of the price table, such as render/catalog/data/prices.csv")
	}
	table, err := readTable(arguments[0])
	if err != nil {
		return err
	}
	offers := map[string]offer{}
	for _, region := range table.regions {
		_, _ = fmt.Fprintf(report, "reading the list of %s …\n", region)
		if offers[region], err = fetch(ctx, lists+"/"+region+"/index.json"); err != nil {
			return fmt.Errorf("price list of %s: %w", region, err)
		}
	}
	rows, err := table.rows(offers, date)
	if err != nil {
		return err
	}
	for _, gone := range table.gone(rows) {
		_, _ = fmt.Fprintf(report, "no longer on the list: %s\n", gone)
	}
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return replace(arguments[0], text.String())
}

func fetch(ctx context.Context, url string) (offer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return offer{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return offer{}, fmt.Errorf("fetching: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return offer{}, fmt.Errorf("fetching %s: %s", url, response.Status)
	}
	return parse(response.Body)
}

// replace writes beside the file first, so that a fault leaves the old one.
func replace(name, text string) error {
	if err := os.WriteFile(name+".new", []byte(text), 0o644); err != nil { //nolint:gosec // a file of the source tree, which everybody may read
		return err
	}
	return os.Rename(name+".new", name)
}
