# frozen_string_literal: true

# The file that `--hosts vagrant` reads: which of Vagrant's nodes are up, and how to log in to them.

require "json"

module Cbn
  # Keeps hosts.yaml, and the file of the nodes' public keys, in Vagrant's own folder of this project.
  class ClusterHosts
    def self.virtualbox_address(number)
      "192.168.56.#{10 + number}"
    end

    def add(folder, machine, number)
      info = machine.ssh_info or return
      address = machine.provider_name == :virtualbox ? self.class.virtualbox_address(number) : info[:host]
      host_key = +""
      machine.communicate.execute("cat /etc/ssh/ssh_host_ed25519_key.pub") { |_, text| host_key << text }
      change(folder) do |nodes|
        nodes[machine.name.to_s] = {
          "address" => address, "user" => info[:username], "key" => info[:private_key_path].first,
          "host_key" => host_key.split.first(2).join(" ")
        }
      end
    end

    def remove(folder, machine)
      change(folder) { |nodes| nodes.delete(machine.name.to_s) }
    end

    private

    # Vagrant starts several machines at a time.
    def change(folder)
      File.open(File.join(folder, "nodes.json"), File::RDWR | File::CREAT, 0o600) do |file|
        file.flock(File::LOCK_EX)
        nodes = JSON.parse(file.size.zero? ? "{}" : file.read)
        yield nodes
        file.rewind
        file.truncate(0)
        file.write(JSON.generate(nodes))
        file.flush
        write(folder, nodes)
      end
    end

    def write(folder, nodes)
      hosts = File.join(folder, "hosts.yaml")
      return File.delete(hosts) if nodes.empty? && File.exist?(hosts)

      known = nodes.values.map { |node| "#{node['address']} #{node['host_key']}\n" }
      File.write(File.join(folder, "known_hosts"), known.join)
      machines = nodes.sort.to_h.transform_values { |node| node.slice("address", "user", "key") }
      File.write(hosts, JSON.pretty_generate("known_hosts" => "known_hosts", "machines" => machines))
    end
  end
end
